"""State: where the reading of a thread stands, so that it can go on from there twice.

Spec: codex 5, 7 and 8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from agentsession.importers.codex import lines
from agentsession.importers.codex.calls import Call, Shown
from agentsession.importers.codex.rolling import Step
from agentsession.importers.codex.units import Unit
from agentsession.importers.codex.usage import Counter

ASKED_BY_USER = "user"
ASKED_BY_TOOL = "tool"


@dataclass(slots=True)
class State:
    """What reading a thread line by line has to remember.

    Attributes:
        history: the items Codex would send now.
        steps: what the file says the history was made by, from its beginning.
        lost_base: a rollback dropped a compaction, and with it the history before that.
        same: whether they are the context at the writer's tip.
        waiting: the calls in it that have no output, by their id.
        call: the model call that is being read; ``None`` between calls.
        calls: how many calls there were.
        turn: the turn's id; empty where a release has none.
        run: the entry that began the turn's run; empty when none is open.
        turn_calls: how many calls the turn had.
        active: whether a turn is running.
        bordered: whether the thread marks where turns begin.
        asked: who asks for a call that is not seen yet; empty for nobody.
        asked_at: when the user did.
        marking: whether the thread marks where calls begin.
        states: how many marker lines stand in a row (first generation).
        done: the last item that the request of a whole response held (third generation).
        seen: the same of the last item of a model.
        owed: the id of a response whose usage may follow.
        lost: whether the history is known to differ from what was sent.
        release: who wrote what is read.
        whole: releases that stored outputs whole wrote some of it.
        unsaid: instructions of a plain header that no item has said yet.
        environment: the last environment that a plain file tells.
        streamed: whether streamed texts stand in the history beside the items (plain files).
        chained: the answer that the next request goes on from, where the server holds the
            history; empty where requests hold it.
        answered: the name of an answer whose items come now; empty for none.
        chat: the model's items show that they came on the chat wire (plain files).
        steered: how many messages a user put into the turn that no request has held yet.
        anew: how many items at the beginning of a rebuilt history tell the context.
        begun: the context messages of the settings that the thread began with.
        telling: the context messages that the last lines told, with nothing between.
        resumed: the first call since the file was read again; empty when nothing shows that.
        provider, model, cwd: what is in force.
        policy: how much of an output the model takes, where the turn context says so.
        counter: the thread's counters.
        shown: what display events tell of calls, until their output comes.
    """

    history: list[Unit] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    lost_base: bool = False
    same: bool = True
    waiting: dict[str, Unit] = field(default_factory=dict)
    call: Call | None = None
    calls: int = 0
    turn: str = ""
    run: str = ""
    turn_calls: int = 0
    active: bool = False
    bordered: bool = False
    asked: str = ""
    asked_at: str = ""
    marking: bool = False
    states: int = 0
    done: int = -1
    seen: int = -1
    owed: str = ""
    lost: bool = False
    release: str = ""
    whole: bool = False
    unsaid: str = ""
    environment: bytes = b""
    streamed: bool = True
    chained: str = ""
    answered: str = ""
    chat: bool = False
    steered: int = 0
    anew: int = 0
    begun: list[Unit] = field(default_factory=list)
    telling: list[Unit] = field(default_factory=list)
    resumed: str = ""
    provider: str = ""
    model: str = ""
    cwd: str = ""
    policy: Mapping[str, Any] = field(default_factory=dict)
    counter: Counter = field(default_factory=Counter)
    shown: dict[str, Shown] = field(default_factory=dict)

    def copy(self) -> State:
        """Return a state that goes on from here by itself; no call may be on its way."""
        assert self.call is None
        return replace(
            self,
            history=list(self.history),
            steps=list(self.steps),
            waiting=dict(self.waiting),
            counter=self.counter.copy(),
            shown=dict(self.shown),
        )

    def pass_by(self, kind: str) -> None:
        """Take it that a line of a kind comes: what stands in a row with it goes on."""
        if kind != lines.STATE:
            self.states = 0
        if kind != lines.ITEM:
            self.telling = []

    def recount(self) -> None:
        """Find the calls without an output again."""
        answered = {unit.call_id for unit in self.history if unit.is_result}
        self.waiting = {
            unit.call_id: unit
            for unit in self.history
            if unit.is_call and unit.call_id not in answered
        }
