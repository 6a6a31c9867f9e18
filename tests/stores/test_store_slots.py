"""One thread at a time has a slot, and signals leave none taken. Spec: stores 1 and 4.6."""

from __future__ import annotations

import contextlib
import dis
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from agentsession.errors import StoreFailed
from agentsession.stores import slots
from agentsession.stores.slots import Slots
from agentsession.stores.sqlite_sessions import Held

# Where the interpreter looks for signals: when it enters or goes on with a function, at the
# end of a loop's body, and after a call.
_LOOKS = ("RESUME", "JUMP_BACKWARD", "JUMP_ABSOLUTE", "CALL")
_INSIDE = (slots.__file__, contextlib.__file__)


class Signals:
    """Raises at the n-th place in a slot's code where a signal could."""

    def __init__(self, at: int) -> None:
        self.left = at
        self._after_call = False

    def __call__(self, frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename not in _INSIDE:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            name = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            looks = self._after_call or (name.startswith(_LOOKS) and "CALL" not in name)
            self._after_call = name.startswith("CALL")
            self.left -= looks
            if looks and not self.left:
                raise KeyboardInterrupt
        return self


def interrupted(work: Callable[[], None], at: int) -> bool:
    """Do it with a signal at the n-th place; return whether there was one."""
    signals = Signals(at)
    before = sys.gettrace()
    sys.settrace(signals)
    try:
        work()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return signals.left <= 0


def others_can(work: Callable[[], None]) -> bool:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(10)
    return not thread.is_alive()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="needs these opcodes")
def test_a_signal_at_any_place_leaves_no_slot_taken() -> None:
    of_store: Slots[Held] = Slots()

    def work() -> None:
        with of_store.use("s"), of_store.use("s"):
            pass

    places = 0
    while interrupted(work, places + 1):
        places += 1
        assert others_can(work), places
    assert places > 10
    work()
    assert of_store.ids() == ()


def test_a_slot_is_the_thread_s_that_has_it() -> None:
    of_store: Slots[Held] = Slots()
    inside = threading.Event()
    order: list[str] = []

    def later() -> None:
        inside.set()
        with of_store.use("s"):
            order.append("later")

    thread = threading.Thread(target=later)
    with of_store.use("s") as slot, of_store.use("s") as again:
        assert slot is again
        thread.start()
        inside.wait(10)
        order.append("first")
    thread.join(10)
    assert order == ["first", "later"]
    assert of_store.ids() == ()


def test_a_check_that_refuses_takes_nothing() -> None:
    of_store: Slots[Held] = Slots()
    asked: list[str] = []

    def check() -> None:
        asked.append("open?")
        if len(asked) == 2:
            raise StoreFailed("it was closed meanwhile")

    with pytest.raises(StoreFailed), of_store.use("s", check):
        raise AssertionError("the block must not run")
    assert of_store.ids() == ()

    def use() -> None:
        with of_store.use("s", check):
            pass

    assert others_can(use)
