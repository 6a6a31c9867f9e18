"""Rules: what Claude Code's releases did differently between their files and the wire.

Spec: claude-code 5 and 8.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

Version = tuple[int, int, int]

_VERSION: Final = re.compile(r"v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?", re.ASCII)

UNKNOWN: Final[Version] = (0, 0, 0)
NEWEST: Final[Version] = (2, 1, 332)


def version_of(release: str) -> Version:
    """Return a release's number, :data:`UNKNOWN` for a name that has none."""
    found = _VERSION.match(release)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else UNKNOWN


@dataclass(frozen=True, slots=True)
class Rules:
    """What one release did. Spec: claude-code 5.2, 8."""

    version: Version

    @staticmethod
    def of(release: str) -> Rules:
        """Return the rules of a release; those of the newest where it has no number."""
        return _rules(release)

    @property
    def copies_on_resume(self) -> bool:
        """A resume writes a new file with the whole history copied."""
        return self.version < (2, 0, 0)

    @property
    def forgets_prompts(self) -> bool:
        """With stream input, prompts are forgotten once they are answered.

        The next turn, and a resume after it, went on from a copy that the process made of what
        it still had: the answers and their results.
        """
        return self.version < (1, 0, 64)

    @property
    def length_notice_sent(self) -> bool:
        """The notice that the output token limit was exceeded is sent like an answer."""
        return (1, 0, 110) <= self.version <= (2, 0, 30)

    @property
    def commands_sent(self) -> bool:
        """What stands in ``local_command`` records is sent. Before it was only shown."""
        return self.version >= (2, 1, 63)

    @property
    def thinking_only_sent(self) -> bool:
        """An answer of thinking blocks alone is sent."""
        return self.version < (2, 1, 41)

    @property
    def blank_lost_on_resume(self) -> bool:
        """A resume leaves blank texts of an answer out."""
        return self.version >= (2, 1, 45)

    @property
    def stores_attachments(self) -> bool:
        """Injected texts are stored as attachment records."""
        return self.version >= (2, 1, 94)

    @property
    def loader_follows_parents(self) -> bool:
        """A resume keeps only the one of several parallel calls that the chain runs through."""
        return self.version >= (2, 1, 2) and self.loads_chain

    @property
    def loads_chain(self) -> bool:
        """A process that goes on from another release's records keeps the chain alone.

        What releases up to 2.1.1 write themselves is one line, of which a chain leaves nothing
        out.
        """
        return self.version < (2, 1, 80)

    @property
    def loader_adds_by_time(self) -> bool:
        """A resume adds the results that the chain passes by, in the order of their times."""
        return (2, 1, 80) <= self.version < (2, 1, 300)

    @property
    def usage_is_final(self) -> bool:
        """Every record of an answer has its final usage."""
        return self.version >= (2, 1, 98)

    @property
    def parts_answers(self) -> bool:
        """Results that stand between the blocks of an answer are sent between them."""
        return self.version < (2, 0, 57)

    @property
    def takes_system_turns(self) -> bool:
        """Attachments can be sent as messages of role ``system``."""
        return self.version > (2, 1, 280)

    @property
    def keeps_preserved(self) -> bool:
        """What a compaction kept behind its summary, as the boundary names it, is sent."""
        return self.version >= (2, 1, 76)

    @property
    def digests_safeguards(self) -> bool:
        """The digest of a request is over its ``safeguards`` as well."""
        return (2, 1, 300) <= self.version <= (2, 1, 301)

    @property
    def prompt_hooks_sent(self) -> bool:
        """Texts of prompt hooks are sent although they are marked as shown only."""
        return self.version < (2, 0, 0)

    @property
    def hooks_between_results(self) -> bool:
        """Results and what hooks said of them are sent in the order they were written."""
        return self.version < (2, 0, 0)

    @property
    def continuation(self) -> str:
        """The prompt by which the program has an answer go on that was cut at the token limit.

        Releases up to 2.1.299 do not store it; the first ones, for which it is empty, end the
        turn with a notice. Spec: claude-code 5.3, 8.
        """
        if self.version < (2, 1, 2):
            return ""
        return _CONTINUE if self.version >= (2, 1, 76) else _CUT_OFF


_CUT_OFF: Final = (
    "Your response was cut off because it exceeded the output token limit. "
    "Please break your work into smaller pieces. Continue from where you left off."
)
_CONTINUE: Final = (
    "Output token limit hit. Resume directly — no apology, no recap of what you were doing. "
    "Pick up mid-thought if that is where the cut happened. "
    "Break remaining work into smaller pieces."
)


@lru_cache(maxsize=256)
def _rules(release: str) -> Rules:
    version = version_of(release)
    return Rules(NEWEST if version == UNKNOWN else version)
