"""``agentsession show --follow``: a row for each entry, those to come included.

Spec: stores 4.8, decision C.
"""

from __future__ import annotations

from agentsession.cli.output import complain, open_output
from agentsession.cli.show import Columns, View, write_header
from agentsession.following import Follower


def follow(source: str, view: View, *, allow_newer: bool) -> int:
    """Print a session and go on until Ctrl-C, or until nobody reads or it is gone.

    Args:
        source: where the session was found.
        view: the session.
        allow_newer: as for reading.

    Raises:
        AgentSessionError, OSError: as :class:`agentsession.following.Follower`.
    """
    session = view.session
    with (
        Follower(
            source, session.id, after=session, report=complain, allow_newer=allow_newer
        ) as follower,
        open_output(paged=False) as out,
    ):
        write_header(out, session)
        columns = Columns(session.entries, out.width)
        out.line(*columns.heading)
        for entry in session:
            out.line(*columns.row(entry, view.summary(entry), ()))
        out.flush()
        try:
            while not (out.closed or follower.ended):
                come = next(follower, None)
                if come is not None:
                    out.line(*columns.row(come, view.summary(come), ()))
                    out.flush()
        except KeyboardInterrupt:
            pass
    return 0
