"""Measured claims: each a ratio against a named baseline of the same run."""

from importlib.util import find_spec

_MISSING = [name for name in ("matplotlib", "orjson", "rfc8785") if find_spec(name) is None]
if _MISSING:
    raise SystemExit(
        f"the benchmarks need {', '.join(_MISSING)}, of the development tools: "
        "run `make check` once, or `pip install -e '.[dev]'`, and use that environment"
    )
