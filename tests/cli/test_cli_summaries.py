"""Entries and items in one line, as command A.2 spells them."""

from __future__ import annotations

from typing import Any

import pytest

from agentsession.cli.summaries import entry_summary, item_summary
from agentsession.codec import unmarshal_entry
from agentsession.items import Item

ENVELOPE = b'"id":"e1","parent":null,"ts":"2026-01-01T00:00:00Z"'
USER = b'{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi  there"}]}'


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"type": "message", "role": "user", "content": "Hi\nthere"}, 'user: "Hi there"'),
        ({"type": "message", "role": "user", "content": ""}, 'user: ""'),
        ({"type": "message", "role": "user", "content": []}, "user: (empty)"),
        ({"type": "message", "role": "user", "content": 7}, "user: (empty)"),
        (
            {"type": "message", "role": "user", "content": [{"type": "input_image"}, {}]},
            "user: [input_image, -]",
        ),
        (
            {"type": "function_call", "name": "ls", "call_id": "c1", "arguments": '{"a":1}'},
            'call ls("{\\"a\\":1}")',
        ),
        ({"type": "function_call", "name": 3}, 'call -("")'),
        ({"type": "function_call_output", "call_id": "c1", "output": "ok"}, 'output c1: "ok"'),
        (
            {
                "type": "function_call_output",
                "call_id": "c1",
                "output": [{"type": "input_image"}, {"type": "input_file"}],
            },
            "output c1: [input_image, input_file]",
        ),
        (
            {
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "so"}],
                "content": [{"type": "reasoning_text", "text": "long"}],
            },
            'reasoning: "so"',
        ),
        ({"type": "reasoning", "summary": [], "content": [{"text": "long"}]}, 'reasoning: "long"'),
        ({"type": "reasoning", "summary": [], "encrypted_content": "x"}, "reasoning (encrypted)"),
        ({"type": "compaction", "encrypted_content": "x"}, "compaction (encrypted)"),
        ({"type": "item_reference", "id": "m1"}, "reference m1"),
        ({"type": "acme:thing", "role": "user"}, "acme:thing"),
        ({}, "-"),
    ],
)
def test_item_summary(item: dict[str, Any], expected: str) -> None:
    assert item_summary(Item(item)) == expected


def entry(entry_type: bytes, members: bytes) -> Any:
    separator = b"," if members else b""
    return unmarshal_entry(
        b'{"type":"' + entry_type + b'",' + ENVELOPE + separator + members + b"}"
    )


@pytest.mark.parametrize(
    ("entry_type", "members", "expected"),
    [
        (b"item", b'"item":' + USER, 'user: "Hi there"'),
        (
            b"item",
            b'"item":' + USER + b',"response":"r1","visible":false,'
            b'"source":{"kind":"human","ref":"slack:1","source":"gateway"}',
            'hidden user: "Hi there" (r1) from human slack:1 via gateway',
        ),
        (b"response", b'"response_id":"","status":""', "- - -"),
        (
            b"response",
            (b'"response_id":"r1","model":"m","status":"failed",'
            b'"usage":{"input_tokens":40,"output_tokens":1.5e3},"error":{"message":"no  luck"},'
            b'"request_hash":"sha256:0123456789abcdef"'),
            'r1 m failed 40+1500 tokens hash sha256:0123456789ab error "no luck"',
        ),
        (
            b"response",
            (b'"response_id":"r1","status":"failed","usage":{"input_tokens":"x"},'
            b'"error":{ "c" : 1 }'),
            'r1 - failed 0+0 tokens error "{\\"c\\":1}"',
        ),
        (b"config", b"", "no change"),
        (
            b"config",
            (b'"replace":true,"model":"m","instructions":"","reasoning":{},"text":{"a":1},'
            b'"tools_added":[{"name":"ls"},{"type":"web"}],"tools_removed":["rm"],'
            b'"extra":{"b":1,"a":null}'),
            'replace, model m, instructions "", reasoning, text, +ls, +-, -rm, extra.a, extra.b',
        ),
        (
            b"config",
            (b'"instructions_parts":[{"id":"a","text":"\xc3\xa9"},{"id":"b","hash":"sha256:1"}],'
            b'"instructions_omitted":[{"id":"c","reason":"budget"},{"id":"d"}]'),
            "instructions [a(2B) b=], omitted c (budget), d",
        ),
        (
            b"compaction",
            b'"first_kept":"i3","summary":' + USER + b',"pinned":[' + USER + b'],"config":{},'
            b'"tokens_before":500',
            'first kept i3; user: "Hi there" (500 tokens before), 1 pinned',
        ),
        (
            b"branch_summary",
            b'"from":"sha256:' + b"ab" * 32 + b'","summary":' + USER,
            'from abababababab; user: "Hi there"',
        ),
        (b"label", b'"target":"i1","label":"good"', "i1 = good"),
        (b"label", b'"target":"i1","label":null', "i1 cleared"),
        (b"info", b'"name":"A  name"', 'name "A name"'),
        (b"info", b"", "info"),
        (
            b"env",
            (b'"cwd":"/srv","vcs":{"system":"git","revision":"0123456789abcdef","dirty":true},'
            b'"files":{"read":{"a":"x"},"written":{}},"tools":{"rg":"14"},'
            b'"workspace":{"kind":"container","ref":"abcdefghijklmnopqrstuvwxyz"}'),
            ("cwd /srv, git 0123456789ab dirty, 1 read, 0 written, 1 tool(s), "
            "container abcdefghijklmnopqrst"),
        ),
        (b"outcome", b'"kind":"test","pass":false', "test fail"),
        (
            b"outcome",
            b'"kind":"eval","target":"r1","score":0.30000000000000004,"pass":true,"label":"f1"',
            "eval on r1 score 0.30000000000000004 pass f1",
        ),
        (b"link", b'"rel":"subsession","session":"s2","call_id":"c1"', "subsession s2 via c1"),
        (b"run", b'"run_id":"r","phase":"start","source":"input","ref":"cron"',
         'start r input ref "cron"'),
        (b"run", b'"run_id":"r","phase":"end","reason":"input_required","pending":["a","b"]',
         "end r input_required pending a,b"),
        (b"dispatch", b'"call_id":"c1","target":"i1"', "c1 to tool"),
        (
            b"decision",
            (b'"call_id":"c1","target":"i1","verdict":"proceed","by":"human","reason":"so be it",'
            b'"args":null'),
            'proceed c1 by human "so be it" args rewritten',
        ),
        (
            b"queued",
            b'"item":' + USER + b',"mode":"steer","trigger":{"kind":"timer"},"ref":"in 1"',
            'steer user: "Hi there" from timer ref "in 1"',
        ),
        (b"custom", b'"ns":"acme","data":{ "a" : 1 }', "acme (11 bytes)"),
        (b"custom", b'"ns":"acme"', "acme (0 bytes)"),
    ],
)  # fmt: skip
def test_entry_summary(entry_type: bytes, members: bytes, expected: str) -> None:
    assert entry_summary(entry(entry_type, members)) == expected


def test_extensions_give_their_size_or_their_text() -> None:
    found = entry(b"acme:note", b'"text": "x"')
    assert entry_summary(found) == f"extension ({len(found.line)} bytes)"
    assert entry_summary(found, verbose=True) == f"extension {found.line.decode()}".replace(
        ': "x"', ':"x"'
    )


def test_verbose_custom_entries_give_their_data() -> None:
    assert entry_summary(entry(b"custom", b'"ns":"acme","data":{ "a" : 1 }'), verbose=True) == (
        'acme {"a":1}'
    )
    assert entry_summary(entry(b"custom", b'"ns":"acme"'), verbose=True) == "acme"


def test_counts_of_absurd_size_stay_short() -> None:
    usage = b'"usage":{"input_tokens":' + b"9" * 5000 + b',"output_tokens":1e999}'
    found = entry(b"response", b'"response_id":"r","status":"ok",' + usage)
    assert len(entry_summary(found)) < 100
