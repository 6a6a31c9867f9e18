"""Redaction: nothing given away, whatever form it hides in, and nothing else broken."""

from __future__ import annotations

import base64
import json
import string
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from export_strategies import sessions
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import agentsession as ags
from agentsession import atif, export
from agentsession.export.structure import is_structural
from agentsession.testing import SessionBuilder

laws = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))

Escape = Callable[[str], str]


def json_escaped(value: str) -> str:
    return json.dumps(value)[1:-1]


def wrapped(value: str) -> str:
    return value[: len(value) // 2] + "\n    " + value[len(value) // 2 :]


ESCAPES: dict[str, Escape] = {
    "plain": str,
    "json": json_escaped,
    "json twice": lambda value: json_escaped(json_escaped(value)),
    "json of all": lambda value: "".join(f"\\u{unit:04x}" for unit in _units(value)),
    "json capitals": lambda value: "".join(f"\\u{unit:04X}" for unit in _units(value)),
    "json, not ascii": lambda value: json.dumps(value, ensure_ascii=False)[1:-1],
    "percent": lambda value: urllib.parse.quote(value, safe=""),
    "percent plus": urllib.parse.quote_plus,
    "percent of all": lambda value: "".join(f"%{byte:02x}" for byte in value.encode()),
    "percent twice": lambda value: urllib.parse.quote(urllib.parse.quote(value, safe=""), safe=""),
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64 inside": lambda value: base64.b64encode(b"u:" + value.encode() + b"\n").decode(),
    "base64 inside, further": lambda value: base64.b64encode(b"u" + value.encode()).decode(),
    "base64 for urls": lambda value: base64.urlsafe_b64encode(value.encode()).decode(),
    "base64 wrapped": lambda value: wrapped(base64.b64encode(value.encode()).decode()),
    "hexadecimal": lambda value: value.encode().hex(),
    "wrapped": wrapped,
    "wrapped, json": lambda value: json_escaped(wrapped(value)),
}


def _units(value: str) -> list[int]:
    data = value.encode("utf-16-be")
    return [data[at] << 8 | data[at + 1] for at in range(0, len(data), 2)]


secret_values = st.text(
    string.ascii_letters + string.digits + '"\\/+ _-.:@$%&<é🎉', min_size=8, max_size=24
).filter(lambda value: not is_structural(value) and len(set(value)) > 3)


def placed(secret: str, build: SessionBuilder, place: str, text: str) -> None:
    """Put a text with a secret in it into a session at a place."""
    if place == "message":
        build.user(f"see {text} there")
    elif place == "arguments":
        build.call("call_1", "sh", json.dumps({text: [text, {"deep": text}]}), hashed=False)
    elif place == "broken arguments":
        build.call("call_1", "sh", f"not json {text}", hashed=False)
    elif place == "output":
        build.call("call_1", hashed=False)
        build.output("call_1", f"out\n{text}\nend")
    elif place == "id":
        build.call(text, hashed=False)
        build.output(text)
        build.dispatch(text)
    elif place == "name":
        build.append(ags.InfoEntry(text, unknown={text: {text: text}}))
        build.user("x")
    elif place == "tool":
        tool = {"type": "function", "name": text, "description": text}
        build.config(tools_added=[tool], model=text)
        build.user("x")
    elif place == "file name":
        content = [{"type": "input_file", "filename": text, "file_data": text}]
        build.item({"type": "message", "role": "user", "content": content})
    else:
        data = base64.b64encode(f"PNG {secret} END".encode()).decode()
        image = {"type": "input_image", "image_url": f"data:image/png;base64,{data}"}
        build.item({"type": "message", "role": "user", "content": [image]})


PLACES = (
    "message",
    "arguments",
    "broken arguments",
    "output",
    "id",
    "name",
    "tool",
    "file name",
    "media",
)


def written(documents: list[atif.Trajectory]) -> tuple[str, bytes]:
    """All names and all bytes of the directory that documents are written to."""
    with TemporaryDirectory() as folder:
        report = export.write_atif(folder, documents)
        assert export.is_whole(report), report
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        names = "\n".join(str(path.relative_to(folder)) for path in files)
        return names, b"\n".join(path.read_bytes() for path in files)


def shapes(secret: str) -> dict[str, str]:
    return {name: escape(secret) for name, escape in ESCAPES.items()}


def check_gone(secret: str, names: str, data: bytes) -> None:
    text = data.decode() + names
    layers = [text, json_unescaped(text), json_unescaped(json_unescaped(text))]
    for layer in layers:
        for name, shape in shapes(secret).items():
            assert shape not in layer, name
        assert secret not in urllib.parse.unquote(layer)
        assert secret not in urllib.parse.unquote_plus(layer)
        assert secret not in "".join(layer.split())
    for number in range(3):
        core = base64.b64encode(b"\0" * number + secret.encode()).decode()[number and 4 : -4]
        assert len(core) < 8 or core not in text


def json_unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text.replace('\\"', '"').replace("\\\\", "\\")


@laws
@given(secret_values, st.sampled_from(sorted(ESCAPES)), st.sampled_from(PLACES))
def test_a_given_secret_is_nowhere_in_what_is_written(secret: str, escape: str, place: str) -> None:
    build = SessionBuilder(id=f"s-{secret}", cwd=f"/w/{secret}")
    placed(secret, build, place, ESCAPES[escape](secret))
    build.user("after")
    options = export.Options(redactors=[export.secrets(secret)])
    documents = [export.to_atif(one, options) for one in export.trajectories(build.session)]
    names, data = written(documents)
    check_gone(secret, names, data)


@laws
@given(sessions(), secret_values)
def test_what_holds_no_secret_is_not_changed(session: ags.Session, secret: str) -> None:
    for trajectory in export.trajectories(session):
        if trajectory.error is None:
            document = export.to_atif(trajectory)
            text = document.to_json().decode()
            assume(secret not in text and json_escaped(secret) not in text)
            assert export.redact(document, export.secrets(secret)) == document


@laws
@given(sessions())
def test_redacted_documents_stay_valid(session: ags.Session) -> None:
    redactors: list[export.Redactor] = [
        export.secrets("call_é/1 call_1"),
        export.home_paths("/home/u"),
        export.environment(),
        export.detect_secrets(),
        export.no_passthrough(),
    ]
    for trajectory in export.trajectories(session):
        if trajectory.error is not None or not trajectory.entries:
            continue
        document = export.to_atif(trajectory, export.Options(redactors=redactors))
        if document.steps:
            assert atif.validate(document, strict=True) == ()
            with pytest.raises(export.NoRawItems):
                export.items(document)


@pytest.mark.parametrize("value", ["short", "assistant", "call_id_", "1234567", "2026-09-17T12"])
def test_what_cannot_be_a_secret_is_refused_without_showing_it(value: str) -> None:
    if value == "call_id_":
        export.secrets(value)
        return
    with pytest.raises(export.RefusedSecret) as refused:
        export.secrets("long enough 1", value)
    assert value not in str(refused.value)
    assert "secret number 2" in str(refused.value)


def test_empty_secrets_are_ignored() -> None:
    assert export.secrets("", "")("as it is, all of it") == "as it is, all of it"


def test_a_longer_value_goes_before_one_it_contains() -> None:
    redact = export.secrets("hunter2-hunter", "hunter2-hunter2-hunter3")
    assert redact("x hunter2-hunter2-hunter3 y hunter2-hunter z") == "x [REDACTED] y [REDACTED] z"


def test_a_private_key_is_found_though_only_its_beginning_is_there() -> None:
    key = "-----BEGIN KEY-----\n" + "\n".join(string.ascii_letters for _ in range(50))
    redact = export.secrets(key)
    assert redact(f"<{json_escaped(key)}>") == "<[REDACTED]>"
    assert redact(f"<{key[:900]}>") == "<[REDACTED]>"


def test_redacted_ids_stay_apart_and_together() -> None:
    secret = "tok-4711-tok"
    build = SessionBuilder()
    for number in (1, 2):
        build.call(f"{secret}-{number}", hashed=False)
        build.output(f"{secret}-{number}", f"from {number}")
    document = export.to_atif(
        export.at(build.session, build.session.leaf or ""),
        export.Options(redactors=[export.secrets(secret)]),
    )
    ids = [step.tool_calls[0].tool_call_id for step in document.steps if step.tool_calls]
    assert len(set(ids)) == 2
    for step, call_id in zip(document.steps, ids, strict=True):
        assert step.observation is not None
        assert step.observation.results[0].source_call_id == call_id
        assert step.extra is not None
        assert step.extra["openresponses"]["items"][0]["call_id"] == call_id


def test_what_atif_fixes_is_left_alone() -> None:
    build = SessionBuilder()
    build.user("agent user system text image ATIF-v1.8")
    document = export.to_atif(export.at(build.session, "e0000001"))
    shouting = export.redact(document, lambda text: text.upper())
    assert atif.validate(shouting) == ()
    assert shouting.steps[0].message == "AGENT USER SYSTEM TEXT IMAGE ATIF-V1.8"
    assert shouting.steps[0].timestamp == document.steps[0].timestamp


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("/home/u", "~"),
        ("/home/u/", "~/"),
        ("cd /home/u/src && ls", "cd ~/src && ls"),
        ("/home/user/x /home/u2 /home/u-x /home/u.bak", None),
        ("see /home/u.", "see ~."),
        ("a:/home/u/x:/home/u/y", "a:~/x:~/y"),
        ("-I/home/u/include -L/home/u/lib", None),
        (" -I/home/u/include", " -I~/include"),
        ("/mnt/home/u/x", None),
        ("file:///home/u/x", "file://~/x"),
        (r"{\"p\": \"\/home\/u\/x\"}", r"{\"p\": \"~\/x\"}"),
        (r"one\n/home/u/x", r"one\n~/x"),
        ("?p=%2Fhome%2Fu%2Fx", "?p=~%2Fx"),
    ],
)
def test_home_paths_end_where_path_names_end(text: str, want: str | None) -> None:
    redact = export.home_paths("/home/u/")
    if text.startswith("-I"):
        want = "-I/home/u/include -L~/lib"
    assert redact(text) == (text if want is None else want)


def test_windows_homes_are_found_in_all_spellings() -> None:
    redact = export.home_paths("C:\\Users\\ann")
    assert redact(r"C:\Users\ann\x C:/Users/ann/x C:\\Users\\ann\\x C:\Users\anna") == (
        r"~\x ~/x ~\\x C:\Users\anna"
    )


@pytest.mark.parametrize("home", ["", ".", "/", "//"])
def test_a_home_that_is_none_changes_nothing(home: str) -> None:
    assert export.home_paths(home)("/a/b . //") == "/a/b . //"


def example() -> atif.Trajectory:
    build = SessionBuilder(cwd="/home/u/proj")
    build.append(ags.EnvEntry(cwd="/home/u/proj", tools={"go": "1"}))
    build.call("call_1", hashed=False)
    build.output("call_1")
    build.append(ags.EnvEntry(cwd="/srv"))
    build.user("x")
    return export.to_atif(export.at(build.session, build.session.leaf or ""))


def strings(value: Any) -> str:
    return json.dumps(value)


def test_environment_takes_out_machines_and_nothing_else() -> None:
    document = example()
    bare = export.redact(document, export.environment())
    assert "environment" not in strings(bare.to_dict())
    assert '"cwd"' not in strings(bare.to_dict())
    assert export.items(bare) == export.items(document)


def test_no_passthrough_leaves_the_declared_members_as_they_are() -> None:
    document = example()
    bare = export.redact(document, export.no_passthrough())
    assert bare.extra == document.extra
    assert [step.message for step in bare.steps] == [step.message for step in document.steps]
    assert "openresponses" not in strings([step.to_dict() for step in bare.steps])
    results = bare.steps[0].observation.results  # type: ignore[union-attr]
    assert results[0].extra is None
    with pytest.raises(export.NoRawItems):
        export.items(bare)


def test_a_document_redactor_sees_the_whole_document() -> None:
    seen: list[int] = []

    def change(document: atif.Trajectory) -> atif.Trajectory:
        seen.append(len(document.steps))
        return document

    export.redact(example(), export.document_redactor(change))
    assert seen == [2]


def test_redactors_run_in_the_order_given() -> None:
    document = export.redact(
        example(), lambda text: text.replace("done", "one"), lambda text: text.replace("one", "1")
    )
    results = document.steps[0].observation.results  # type: ignore[union-attr]
    assert results[0].content == "1"


def test_attributes_of_a_span_are_redacted_too() -> None:
    found = export.redact_attributes(
        {"a": "x hunter2-hunter2", "b": ["hunter2-hunter2", 1], "c": 3},
        [export.secrets("hunter2-hunter2")],
    )
    assert found == {"a": "x [REDACTED]", "b": ["[REDACTED]", 1], "c": 3}


def test_a_numeric_secret_is_found_among_numbers() -> None:
    build = SessionBuilder()
    build.call("call_1", "pay", '{"card": 4111111111111111}', hashed=False)
    document = export.to_atif(
        export.at(build.session, build.session.leaf or ""),
        export.Options(redactors=[export.secrets("4111111111111111")]),
    )
    assert b"4111111111111111" not in document.to_json()


def test_media_that_hold_a_secret_are_dropped_whole() -> None:
    build = SessionBuilder()
    placed("hunter2-hunter2", build, "media", "")
    document = export.to_atif(
        export.at(build.session, "e0000001"),
        export.Options(redactors=[export.secrets("hunter2-hunter2")]),
    )
    assert document.steps[0].message == (atif.ContentPart(type="text", text="[image: [REDACTED]]"),)
    assert b"data:" not in document.to_json()


def json_times(value: str, times: int) -> str:
    for _ in range(times):
        value = json.dumps(value)
    return value


@pytest.mark.parametrize("times", [0, 1, 2, 3, 4])
@pytest.mark.parametrize(
    "value",
    [
        "first-line\nthird-line-secret",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\nrbtfn0\n-----END",
        "tabs\there\rreturns\bback\0null",
        "back\\nslash\\\\real",
        "nrtbf0nrtbf0",
    ],
)
def test_lines_escaped_again_and_again_are_found(value: str, times: int) -> None:
    written = json_times(value, times)
    redact = export.secrets(value)
    assert redact.may_hold(written)
    assert redact(written).strip('\\"') == "[REDACTED]"


def test_a_value_broken_by_a_backslash_and_a_line_end_is_found() -> None:
    assert export.secrets("hunter2-hunter2")("<hunte\\\nr2-hunter2>") == "<[REDACTED]>"


@laws
@given(st.text("nrtbf0\\\n\t ax-", min_size=8, max_size=30), st.integers(0, 4))
def test_whatever_is_found_was_not_ruled_out(value: str, times: int) -> None:
    assume(value.strip() == value and not is_structural(value) and len(set(value)) > 3)
    redact = export.secrets(value)
    written = f"n{json_times(value, times)}t"
    assert redact.may_hold(written)
    assert redact(written) != written


def attached(data: bytes, kind: str = "application/json") -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


AWKWARD = 'p"w\\secret/x1'


@pytest.mark.parametrize("escape", sorted(ESCAPES))
@pytest.mark.parametrize("form", ["url", "wrapped", "alone", "binary", "in arguments", "nested"])
def test_files_that_hold_a_value_are_dropped_whole(form: str, escape: str) -> None:
    inner = f"{{pw: {ESCAPES[escape](AWKWARD)}}}"
    data = inner.encode()
    url = attached(data)
    if form == "wrapped":
        url = url[:40] + "\n" + url[40:]
    elif form == "alone":
        url = base64.b64encode(data).decode()
    elif form == "binary":
        url = attached(b"\xff\xfe\x00" + AWKWARD.encode(), "application/pdf")
    elif form == "nested":
        url = attached(attached(data).encode())
    build = SessionBuilder()
    if form == "in arguments":
        build.call("call_1", "write", json.dumps({"content": f"see {url} there"}), hashed=False)
    else:
        content = [{"type": "input_file", "filename": "cfg.json", "file_data": url}]
        build.item({"type": "message", "role": "user", "content": content})
    document = export.to_atif(
        export.at(build.session, build.session.leaf or ""),
        export.Options(redactors=[export.secrets(AWKWARD)]),
    )
    text = document.to_json().decode()
    assert url[-12:].strip("=") not in text
    assert "[REDACTED]" in text


def test_files_without_a_value_stay() -> None:
    for text in (attached(b"{}"), attached(b"\xff\x00", "x/y"), "A" * 400, attached(b"a"), "64,"):
        assert export.secrets(AWKWARD)(text) == text
