"""Counting right: every kind of double counting has one answer. See ``docs/usage.md``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsession.entries import CompactionEntry
from agentsession.errors import AgentSessionError
from agentsession.importers import registry
from agentsession.importers.base import Importer
from agentsession.importers.counted import SENTENCES, By, Count
from agentsession.importers.prices import Prices, load_prices
from agentsession.importers.run import Work, import_sessions
from agentsession.importers.usage import UsageRecord, of_session, of_source
from agentsession.stores import JSONLStore, Summary
from agentsession.testing import SessionBuilder
from agentsession.timestamp import Timestamp

DATA = Path(__file__).parents[1] / "data"
HOSTILE = DATA / "usage"
PAGE = Path(__file__).parents[2] / "docs" / "usage.md"


def straight(agent: str, *paths: Path, by: By = By.MODEL) -> dict[str, Any]:
    """What an agent's own files say."""
    count = Count()
    importer = registry.load(agent)
    for place, path in enumerate(paths):
        for source in importer.find([path]):
            for record in of_source(importer, source):
                count.add(record, place)
    return count.report(by).to_dict()


def tokens(report: dict[str, Any]) -> tuple[int, int]:
    return report["totals"]["input_tokens"], report["totals"]["output_tokens"]


def used(sent: int, made: int, **details: int) -> dict[str, Any]:
    return {"input_tokens": sent, "output_tokens": made, "input_tokens_details": details}


# One kind of double counting after the other.


@pytest.mark.parametrize("name", ["claude-usage-split-blocks", "claude-usage-spaced-json"])
def test_an_answer_split_over_records_counts_once(name: str) -> None:
    assert straight("claude-code", HOSTILE / f"{name}.jsonl")["totals"]["output_tokens"] == 40


def test_a_resume_that_rewrote_its_history_counts_once() -> None:
    path = HOSTILE / "claude-resume-same-file-new-uuids.jsonl"
    assert straight("claude-code", path)["totals"]["output_tokens"] == 9


def test_lifetimes_of_cache_writes_stay_apart() -> None:
    totals = straight("claude-code", HOSTILE / "claude-cache-ttl-usage.jsonl")["totals"]
    assert totals["cache_creation_tokens"] == 1000
    assert totals["cache_creation_1h_tokens"] == 900
    assert totals["uncached_tokens"] + totals["cached_tokens"] + 1000 == totals["input_tokens"]


def test_a_counter_sent_again_counts_once() -> None:
    path = HOSTILE / "codex-token-count-reemitted.jsonl"
    assert straight("codex", path)["totals"]["input_tokens"] == 250


def test_a_forks_copies_count_once() -> None:
    report = straight("pi", DATA / "pi-hostile", by=By.SESSION)
    assert report["totals"]["cost_usd"] == 0.5
    assert [group["key"] for group in report["groups"]] == ["9100"]


def test_copies_of_files_count_once(tmp_path: Path) -> None:
    """A backup beside the original, and an original that an upgrade rewrote."""
    once = straight("pi", DATA / "pi" / "1.6.0-migrated")
    assert tokens(once) == (8400, 280)
    shutil.copytree(DATA / "pi" / "0.49.3-tree", tmp_path / "a")
    shutil.copytree(DATA / "pi" / "0.49.3-tree", tmp_path / "backup")
    assert tokens(straight("pi", tmp_path)) == tokens(straight("pi", tmp_path / "a"))
    # Named one after the other, the second has nothing that the first has not.
    both = straight("pi", tmp_path / "a", tmp_path / "backup")
    assert tokens(both) == tokens(straight("pi", tmp_path / "a"))
    assert [finding["code"] for finding in both["findings"]] == ["session-in-two-sources"]


def test_opencode_counts_a_session_of_two_generations_once() -> None:
    """Two sessions in the tree and in the database: each main request once."""
    recording = DATA / "opencode-recordings" / "1.2.1-migrated"
    log = (recording / "requests.jsonl").read_text("utf-8").splitlines()
    asked = [request for request in map(json.loads, log) if request["kind"] == "main"]
    assert straight("opencode", recording)["totals"]["calls"] == len(asked)


def test_the_final_count_of_a_call_wins() -> None:
    count = Count()
    first = UsageRecord("s", "m", usage=used(10, 1), key="k", complete=False)
    count.add(first)
    assert [f.code for f in count.report().findings] == ["counts-incomplete"]
    count.add(UsageRecord("s", "m", usage=used(10, 40), key="k"))
    count.add(first)
    report = count.report().to_dict()
    assert tokens(report) == (10, 40)
    assert report["totals"]["incomplete_calls"] == 0
    assert [finding["code"] for finding in report["findings"]] == ["copies-counted-once"]


def test_a_copy_counts_for_the_session_that_had_it_first() -> None:
    count = Count()
    count.add(UsageRecord("origin", "m", usage=used(1, 2), key="k", cost=0.5))
    count.add(UsageRecord("fork", "m", usage=used(1, 2), key="k", cost=0.5))
    report = count.report(By.SESSION).to_dict()
    assert [group["key"] for group in report["groups"]] == ["origin"]
    assert report["totals"]["cost_usd"] == 0.5


def test_calls_without_a_key_have_no_copies() -> None:
    count = Count()
    for _ in range(2):
        count.add(UsageRecord("s", "m", usage=used(1, 2)))
    assert count.report().totals["calls"] == 2


# Sessions of this format.


def test_a_session_counts_its_responses_and_its_summaries() -> None:
    build = SessionBuilder()
    build.config(model="m")
    build.user("hello")
    build.answer("hi", usage=used(5, 1))
    kept = build.user("more")
    summary = {"type": "message", "role": "user", "content": "S"}
    build.append(CompactionEntry(kept, summary, usage=used(7, 2)))
    records = list(of_session(build.session))
    assert [record.usage["input_tokens"] for record in records] == [5, 7]
    assert {(record.session_id, record.model) for record in records} == {(build.session.id, "m")}
    again = Count()
    for _ in range(2):
        for one in of_session(build.session):
            again.add(one)
    assert again.report().totals["calls"] == 2


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("pi", "pi/1.6.0-tree"),
        ("pi", "pi/1.6.0-compaction"),
        ("pi", "pi/0.30.2-branch1"),
        ("opencode", "opencode-recordings/1.14.41-tail"),
        ("codex", "codex/0.101.0-compact"),
    ],
)
@pytest.mark.parametrize("by", [By.MODEL, By.DAY])
def test_an_import_says_what_the_files_say(agent: str, name: str, by: By, tmp_path: Path) -> None:
    place = DATA / name
    importer: Importer = registry.load(agent)
    import_sessions([Work(importer, tuple(importer.find([place])))], tmp_path)
    count = Count()
    with JSONLStore(tmp_path, read_only=True) as store:
        for summary in store.list():
            assert isinstance(summary, Summary)
            for record in of_session(store.open(summary.id)):
                count.add(record)
    theirs, ours = straight(agent, place, by=by), count.report(by).to_dict()
    assert ours["totals"] == theirs["totals"]
    assert ours["groups"] == theirs["groups"]


# Prices.


def priced(**prices: Any) -> dict[str, Any]:
    return {"input": 2, "output": 10, **prices}


def test_prices_fill_in_where_no_cost_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    special = priced(cache_read=1, cache_write=4, cache_write_1h=8)
    path.write_text(json.dumps({"p/m": special, "m*": priced(), "other": priced()}))
    count = Count(load_prices(path))
    details = {
        "cached_tokens": 100,
        "cache_creation_tokens": 60,
        "cache_creation_1h_tokens": 50,
    }
    count.add(UsageRecord("a", "m", "p", usage=used(1000, 10, **details)))
    count.add(UsageRecord("b", "m-2", usage=used(1000, 10)))
    count.add(UsageRecord("c", "m", "p", usage=used(1000, 10), cost=7.0))
    count.add(UsageRecord("d", "new", usage=used(1000, 10)))
    report = count.report(By.SESSION).to_dict()
    costs = {group["key"]: group["cost_usd"] for group in report["groups"]}
    own = (840 * 2 + 100 * 1 + 10 * 4 + 50 * 8 + 10 * 10) / 1e6
    assert costs == {"a": pytest.approx(own), "b": pytest.approx(0.0021), "c": 7.0, "d": None}
    assert report["totals"]["costed_calls"] == 3
    (finding,) = report["findings"]
    assert (finding["code"], finding["where"]) == ("model-without-price", "new")


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"m": 1}', '{"m": {"input": 1}}', '{"m": {"input": -1, "output": 1}}',
     '{"m": {"input": 1, "output": true}}', '{"m": {"input": 1e400, "output": 1}}',
     '{"m": {"input": 1, "output": 1, "inptu": 2}}'],
)  # fmt: skip
def test_what_is_no_price_file(text: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_text(text)
    with pytest.raises(AgentSessionError, match=r"prices\.json"):
        load_prices(path)


def test_the_longest_name_is_the_price() -> None:
    assert Prices().of("m") is None


# Laws.

numbers = st.one_of(
    st.integers(-5, 10**6), st.floats(), st.none(), st.text(max_size=2), st.just(10**30)
)


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from(["", "k", "l"]), numbers, numbers, numbers)
    )
)
def test_sums_never_fail_and_groups_add_up(calls: list[tuple[str, str, Any, Any, Any]]) -> None:
    count = Count()
    for session, key, sent, made, read in calls:
        details = {"cached_tokens": read, "cache_creation_tokens": made}
        record = UsageRecord(session, session, usage=used(sent, made, **details), key=key)
        count.add(record, 0)
    for by in By:
        report = count.report(by).to_dict()
        for name in ("calls", "input_tokens", "uncached_tokens", "output_tokens"):
            assert report["totals"][name] == sum(group[name] for group in report["groups"])
        assert report["totals"]["uncached_tokens"] >= 0
    once = len({key for _, key, *_ in calls if key})
    assert count.report().totals["calls"] == once + sum(not key for _, key, *_ in calls)


def test_absurd_times_are_unknown_days() -> None:
    count = Count()
    count.add(UsageRecord("s", "m", ts=Timestamp.parse("9999-12-31T23:59:59Z"), usage=used(1, 1)))
    count.add(UsageRecord("s", "m", usage=used(1, 1)))
    keys = [group["key"] for group in count.report(By.DAY).to_dict()["groups"]]
    assert "unknown" in keys


def test_the_page_names_every_code() -> None:
    page = PAGE.read_text("utf-8")
    assert [code for code in [*SENTENCES, "unreadable-source"] if f"`{code}`" not in page] == []
