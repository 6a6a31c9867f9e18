"""What every store must do, as a pytest class that any store can run.

Three lines are a whole test module::

    class TestMyStore(StoreConformance):
        def make_store(self, place):
            return MyStore(place / "sessions")

``make_store`` is called with a directory of the test; called again with the same one, after
the first store was closed, it opens the same storage; called before, it opens a second store
over it, which must not write to a session that the first one holds. A store that keeps nothing
beyond its object says ``persistent = False``; one that leaves it to its users that only one
store writes to a session says ``exclusive = False``, and one that makes no sessions whose ids are
hashes, or no forks of them, ``later_drafts = False``.

The numbers in the docstrings are the lines of the list in stores 6. This module needs pytest;
``pytest.register_assert_rewrite("agentsession.stores.conformance")`` before the import makes
its failures show their values.

Spec: stores 6.
"""

from agentsession.stores.conformance.lasting import Endure, Persist, Refuse
from agentsession.stores.conformance.later import LaterDrafts
from agentsession.stores.conformance.sessions import (
    Append,
    Continue,
    CreateAndOpen,
    Delete,
    List,
)

__all__ = ["StoreConformance"]


class StoreConformance(
    CreateAndOpen, Append, List, Continue, Delete, Persist, Refuse, Endure, LaterDrafts
):
    """Every requirement of stores 6 for all stores; see the module for how to run it."""
