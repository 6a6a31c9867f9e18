"""Plain files: what the first generation left to be told from what stands in a file.

Their lines name no release. What stands there tells what it put into the history: 0.20 and
0.21 stored no context message, 0.22 and 0.23 did, and all four had streamed texts in the
history beside the items; 0.25 to 0.29 wrote the environment in tags, and kept each text once.
Spec: codex 2 and 8.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentsession.importers.codex.calls import Element
from agentsession.importers.codex.lines import Line, mapping, string
from agentsession.importers.codex.units import Unit, instructed, is_output

if TYPE_CHECKING:
    from agentsession.importers.codex.reading import Reading
    from agentsession.importers.codex.state import State

_ENVIRONMENT: Final = "<environment_context>"
_IN_TAGS: Final = "<environment_context>\n  <cwd>"
_CHAINED: Final = "previous_response_id"
_NO_NUMBER: Final = -1


def headed(state: State, line: Line) -> None:
    """Take what a plain header says: the user's instructions, which may be stored again."""
    if line.is_plain and not state.history:
        state.unsaid = string(line.payload.get("instructions"))


def marked(state: State, line: Line) -> None:
    """Take a marker. One that names a response is of 0.8.

    Where it kept answers with the server, a request held what was new and the name of the
    answer it goes on from, which had the rest.
    """
    for name, value in line.beside:
        if name == _CHAINED:
            state.unsaid, state.streamed = "", False
            named = string(value)
            state.answered = named if named != state.chained else state.answered
            state.chained = named


def begun(reading: Reading, unit: Unit, time: str) -> None:
    """Notice what an item tells of its release, before it is taken.

    The instructions are put before the first item when it is no context message: then they
    were sent as a message that is not stored. An environment that is told again, as it was,
    begins another process, whose history is what the file holds.
    """
    state = reading.state
    if unit.role == "assistant" and "id" in mapping(unit.value) and not unit.native_id:
        # A Responses server names what it says.
        state.chat, state.lost = True, False
    if unit.turn and state.chained:
        _unheard(reading)
    words, state.unsaid = state.unsaid, ""
    if words and not unit.context:
        made = Element(instructed(words), _NO_NUMBER, output=False, time=time)
        reading.calling.keep(made)
    if not unit.words.startswith(_ENVIRONMENT) or not unit.context:
        return
    if unit.words.startswith(_IN_TAGS):
        state.streamed = False
    reading.calling.flush()
    if unit.text == state.environment:
        # Nothing but the start of a process tells the same again.
        state.resumed = f"call-{state.calls + 1}"
        state.lost = False
    state.environment = unit.text


def _unheard(reading: Reading) -> None:
    """Leave what a request said that had no answer: the next goes on from the answer before.

    What the calls of that answer returned stays with them.
    """
    state = reading.state
    call = state.call
    if call is None or call.elements:
        return
    reading.calling.flush()
    history = state.history
    end = len(history)
    while end > 0 and not (
        history[end - 1].is_result or is_output(history[end - 1].type, history[end - 1].role)
    ):
        end -= 1
    if end < len(history):
        reading.go_back(history[:end])
        reading.accounts.find("request-not-chained")
