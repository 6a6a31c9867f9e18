"""``python -m agentsession`` is the ``agentsession`` command."""

from __future__ import annotations

import sys

from agentsession.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
