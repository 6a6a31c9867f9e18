"""Sessions as OpenTelemetry spans: a stored one after the fact, a live one while it is recorded.

>>> from agentsession import otel
>>> from agentsession.testing import SessionBuilder
>>> build = SessionBuilder()
>>> answer = build.answer("Hello")
>>> answer in otel.export(otel.tracer("my-agent"), build.session)
True

Needs the extra ``agentsession[otel]``. Only ``opentelemetry-api`` is imported here; where
the spans go is up to the program, or to ``agentsession trace``.

Spec: otel B.
"""

from __future__ import annotations

try:
    from opentelemetry import trace as _trace
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "agentsession.otel needs opentelemetry-api; install agentsession[otel]", name=error.name
    ) from error

from agentsession.otel.names import CONVENTIONS, SCHEMA_URL
from agentsession.otel.replay import export
from agentsession.otel.wrapping import TracedStore, wrap

__all__ = ["CONVENTIONS", "SCHEMA_URL", "TracedStore", "export", "tracer", "wrap"]


def tracer(name: str, version: str = "") -> _trace.Tracer:
    """Return a tracer of the global provider that says which conventions the names follow.

    Args:
        name: who emits the spans, most often the harness.
        version: its version.
    """
    return _trace.get_tracer(name, version or None, schema_url=SCHEMA_URL)
