"""Measured claims: each a ratio against a named baseline of the same run."""

import sys
from importlib.util import find_spec

_MISSING = [name for name in ("matplotlib", "orjson", "rfc8785") if find_spec(name) is None]
if _MISSING:
    print(
        f"the benchmarks need {', '.join(_MISSING)}, of the development tools: "
        "run `make check` once, or `pip install -e '.[dev]'`, and use that environment",
        file=sys.stderr,
    )
    raise SystemExit(2)
