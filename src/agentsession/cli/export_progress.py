"""How far an export is, within long sessions too."""

from __future__ import annotations

import time

from agentsession import export
from agentsession.cli.progress import Progress


class Steps(Progress):
    """Progress that goes on within a session: one may take longer than a hundred others."""

    def at(self, place: export.Progress) -> None:
        """Show how far an export is."""
        if not place.steps_done:
            self.show(place.sessions_done, place.sessions)
        elif self._stream is not None and time.monotonic() >= self._next:
            self._next = 0.0
            self.show(place.sessions_done, place.sessions)
            self._write(f", {place.steps_done} steps of the next")
