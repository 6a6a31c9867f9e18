"""Long processes with stream input: what a process forgot that its files still tell."""

from __future__ import annotations

from pathlib import Path

from claude_files import Log
from test_claude_releases import all_rebuilt, said, user


def test_a_summary_beside_the_chain_is_not_sent(tmp_path: Path) -> None:
    """The prompt after a compaction stood right below its boundary."""
    log = Log(version="2.0.14")
    log.user("u1", "Go")
    log.say("a1", "msg_0001", "Long ago.")
    told = {"trigger": "manual", "preTokens": 100}
    log.add("system", "b1", None, subtype="compact_boundary", compactMetadata=told)
    log.user("s1", "In short", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    log.user("o1", "<local-command-stdout>Compacted </local-command-stdout>")
    log.user("u2", "On", parent="b1")
    log.say("a2", "msg_0002", "Yes.")
    log.user("u3", "And on")
    log.say("a3", "msg_0003", "Sure.")
    log.write(tmp_path)
    after = [user("On"), said("Yes."), user("And on")]
    all_rebuilt(tmp_path, {1: [user("Go")], 2: after[:1], 3: after})


def test_a_summary_on_the_chain_is_sent(tmp_path: Path) -> None:
    log = Log(version="2.0.14")
    log.user("u1", "Go")
    log.say("a1", "msg_0001", "Long ago.")
    log.add("system", "b1", None, subtype="compact_boundary")
    log.user("s1", "In short", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    log.user("u2", "On")
    log.say("a2", "msg_0002", "Yes.")
    log.write(tmp_path)
    all_rebuilt(tmp_path, {1: [user("Go")], 2: [user("In short", "On")]})
