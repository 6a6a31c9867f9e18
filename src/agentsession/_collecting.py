"""A pause of the garbage collector while many values are made and no cycle among them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Let no collection happen meanwhile; one who had it off before keeps it off.

    The collector would look at all the new values again and again, and at everything else in
    the process: for a million items that is two thirds of the time.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
