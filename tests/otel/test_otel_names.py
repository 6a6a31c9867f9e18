"""The names: those of the pinned conventions, each on the page that documents them."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path

from agentsession import otel
from agentsession.otel import names

PAGE = (Path(__file__).parents[2] / "docs" / "otel.md").read_text("utf-8")


def all_names() -> dict[str, str]:
    found = {name: value for name, value in vars(names).items() if name.isupper()}
    return {name: found[name] for name in found.keys() - {"CONVENTIONS", "SCHEMA_URL"}}


def test_the_snippets_of_the_page_run() -> None:
    snippets = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(snippets) == 2
    for snippet in snippets:
        exec(compile(snippet, "docs/otel.md", "exec"), {})


def test_conventions_have_the_names() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as gen_ai
        from opentelemetry.semconv.attributes import error_attributes as error
    known = {value for value in vars(gen_ai).values() if isinstance(value, str)}
    ours = {value for value in all_names().values() if value.startswith("gen_ai.")}
    assert ours <= known
    assert error.ERROR_TYPE == names.ERROR_TYPE
    assert {names.CHAT, names.EXECUTE_TOOL} <= {
        value.value for value in gen_ai.GenAiOperationNameValues
    }


def test_the_page_documents_every_name() -> None:
    missing = [value for value in all_names().values() if f"`{value}`" not in PAGE]
    assert missing == []
    assert otel.CONVENTIONS in PAGE


def test_only_the_api_is_imported() -> None:
    code = (
        "import sys, agentsession.otel;"
        "print([n for n in sys.modules if n.startswith(('opentelemetry.sdk', 'opentelemetry.ex',"
        " 'grpc', 'google.protobuf', 'pytest'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"


def test_tracer_says_which_conventions(monkeypatch: object) -> None:
    from opentelemetry.sdk.trace import TracerProvider

    provider = TracerProvider(shutdown_on_exit=False)
    from opentelemetry import trace

    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)  # type: ignore[attr-defined]
    span = otel.tracer("my-agent", "7").start_span("x")
    scope = span.instrumentation_scope  # type: ignore[attr-defined]
    assert (scope.name, scope.version, scope.schema_url) == ("my-agent", "7", otel.SCHEMA_URL)
