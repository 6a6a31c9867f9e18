"""A small agent that records everything it does, so that it can be killed and go on.

It talks to any endpoint of the Responses API through the ``openai`` client::

    export OPENAI_API_KEY=...
    python examples/record_agent.py --model gpt-5-mini "How many lines has notes.txt?"

Every step is on disk before the next one is taken: the input before the request, what
the model returned before a tool is called, the dispatch of a call before its tool runs.
So whatever kills the process, the session says how far it got::

    python examples/record_agent.py --resume SESSION-ID

names each call without an output: *in flight* (its tool was running; it may have taken
effect), *held* (it waits for a person) or *never started*. What cannot be known is
yours to say: ``--retry`` or ``--abandon`` for calls in flight, ``--approve`` or ``--deny``
for held ones. On a terminal the agent asks.

Exit codes: 0 the run ended by itself, 1 an error, 3 an answer of yours is needed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import openai
from toolbox import Toolbox

import agentsession as ags
from agentsession.stores import JSONLStore, LockHolder

if TYPE_CHECKING:
    from collections.abc import Sequence

VERSION = "1.0"
INSTRUCTIONS = "You help with the files of one project. Use the tools; be brief."
MODEL_CALLS = 40  # in one run; an agent that needs more is lost
NEEDS_ANSWER = 3


class Agent:
    """The loop: ask the model, take its calls to their outputs, ask again.

    All state is in the session. The agent itself remembers nothing, so a new process
    with the same session is the same agent.
    """

    def __init__(
        self,
        store: JSONLStore,
        session: ags.Session,
        client: openai.OpenAI,
        toolbox: Toolbox,
        *,
        held: str = "",
        in_flight: str = "",
    ) -> None:
        """Take the answers a person gave in advance, if any.

        Args:
            store: where to record.
            session: the session, created in or opened from the store.
            client: the endpoint.
            toolbox: the tools.
            held: ``approve`` or ``deny`` calls that policy holds; empty asks.
            in_flight: ``retry`` or ``abandon`` calls that were in flight; empty asks.
        """
        self.store = store
        self.session = session
        self.client = client
        self.toolbox = toolbox
        self.held = held
        self.in_flight = in_flight

    def configure(self, model: str) -> None:
        """Record the settings: the first entry of a session, so that requests can be rebuilt."""
        settings = {"model": model, "instructions": INSTRUCTIONS, "tools": self.toolbox.schemas}
        self.session.append(ags.config_from_request(settings))

    def run(self, prompt: str = "") -> str:
        """Work until the model has no more calls; return why the run ended.

        Calls left over from an earlier run come first, then ``prompt``.
        """
        pending = self.pending()
        self.close_open_run()
        if not pending and not prompt and not self.owes_request():
            say("nothing is left to do")
            return "done"
        run_id = f"run_{uuid.uuid4().hex[:8]}"
        self.session.append(ags.RunEntry.start(run_id, "resume" if pending else "input"))
        reason, ref = "", ""
        try:
            for call in pending:
                self.settle(call)
            if prompt:
                self.session.append(ags.ItemEntry(user_message(prompt)))
            self.converse()
        except openai.OpenAIError as error:
            reason, ref = "error", str(error)
            say(f"error: {error}")
        except KeyboardInterrupt:
            reason = "interrupted"
            # In the middle of an append it made the store drop the session.
            self.session = self.store.open(self.session.id)
        return self.close_open_run(reason, ref)

    def converse(self) -> None:
        """Ask the model until it has no more calls, or one of them has to wait."""
        for _ in range(MODEL_CALLS):
            request = self.session.context().request()
            started = time.monotonic()
            response = self.client.responses.create(**request)
            latency = time.monotonic() - started
            ags.record_response(self.store, self.session.id, request, response, latency)
            say_answer(response.output_text)
            calls = self.pending()
            # All of them: one that has to wait does not keep the others.
            waiting = [call for call in calls if not self.settle(call)]
            if not calls or waiting or response.error or response.incomplete_details:
                return

    def settle(self, call: ags.Call) -> bool:
        """Take one call to its output; return False when it has to wait for a person."""
        name, arguments = call.name, call.args
        if call.state(self.session.header) is ags.CallState.IN_FLIGHT:
            if self.answer_in_flight(call) == "abandon":
                self.answer(call, "The program stopped while this ran; its effect is unknown.")
                return True
        else:
            decision = call.decisions[-1] if call.decisions else self.decide_by_policy(call)
            if decision is not None and decision.verdict == "hold":
                decision = self.decide_by_person(call)
                if decision is None:
                    return False
            if decision is not None and decision.verdict == "reject":
                self.answer(call, f"Not done: {decision.reason}")
                return True
        # Durable before the tool runs: from here on the call may have taken effect.
        self.session.append(ags.DispatchEntry(call.id, call.entry.id))
        say(f"  {name}({arguments})")
        self.answer(call, self.toolbox.run(name, arguments))
        return True

    def answer(self, call: ags.Call, output: str) -> None:
        """Record the output of a call."""
        item = {"type": "function_call_output", "call_id": call.id, "output": output}
        self.session.append(ags.ItemEntry(item))

    def decide_by_policy(self, call: ags.Call) -> ags.DecisionEntry | None:
        """Record what policy says about a call; ``None`` where it has nothing to say."""
        verdict, reason = self.toolbox.policy(call.name, call.args)
        if verdict == "proceed":
            return None
        say(f"  {call.name}({call.args}): {verdict}, {reason}")
        return self.decide(call, verdict, "policy", reason)

    def decide_by_person(self, call: ags.Call) -> ags.DecisionEntry | None:
        """Record what a person says about a held call; ``None`` when nobody is there."""
        answer = self.answer_held(call)
        if answer == "approve":
            return self.decide(call, "proceed", "human")
        if answer == "deny":
            return self.decide(call, "reject", "human", "the user does not want this")
        return None

    def decide(self, call: ags.Call, verdict: str, by: str, reason: str = "") -> ags.DecisionEntry:
        """Record a decision."""
        decision = ags.DecisionEntry(call.id, call.entry.id, verdict, by, reason=reason)
        self.session.append(decision)
        return decision

    # What an earlier process left.

    def pending(self) -> list[ags.Call]:
        """Return the calls without an output."""
        return self.session.pending_calls() if self.session.leaf else []

    def owes_request(self) -> bool:
        """Return whether the conversation ends with something the model has not answered."""
        items = self.session.context().items
        return bool(items) and (items[-1].role == "user" or items[-1].type.endswith("_output"))

    def close_open_run(self, reason: str = "", ref: str = "") -> str:
        """Record the end of a run that is open; return its reason, by default what it shows."""
        run = self.session.open_run() if self.session.leaf else None
        if run is None:
            return ""
        reason = reason or run.reason()
        self.session.append(self.session.end_run(reason, ref))
        return reason

    def report(self) -> None:
        """Say what became of the calls that have no output."""
        for call in self.pending():
            what = f"{call.id} {call.name}({call.args})"
            match call.state(self.session.header):
                case ags.CallState.IN_FLIGHT:
                    assert call.dispatch is not None
                    say(f"in flight: {what}, since {call.dispatch.ts}; it may have taken effect")
                case ags.CallState.HELD:
                    say(f"held: {what}, {call.decisions[-1].reason}")
                case state:
                    say(f"{state.replace('_', ' ')}: {what}")

    def unanswered(self) -> str:
        """Return what a person has to say before pending calls can go on; empty when nothing."""
        for call in self.pending():
            state = call.state(self.session.header)
            if state is ags.CallState.IN_FLIGHT:
                if not self.answer_in_flight(call):
                    return "say what to do with calls in flight: --retry or --abandon"
            elif not call.decisions or call.held:
                held = call.held or self.toolbox.policy(call.name, call.args)[0] == "hold"
                if held and not self.answer_held(call):
                    return "say what to do with held calls: --approve or --deny"
        return ""

    def answer_held(self, call: ags.Call) -> str:
        """Return ``approve``, ``deny``, or an empty string when nobody can be asked."""
        question = f"let {call.name}({call.args}) run?"
        self.held = self.held or ask(question, "approve", "deny")
        return self.held

    def answer_in_flight(self, call: ags.Call) -> str:
        """Return ``retry``, ``abandon``, or an empty string when nobody can be asked."""
        question = f"{call.name}({call.args}) may have run: what now?"
        self.in_flight = self.in_flight or ask(question, "retry", "abandon")
        return self.in_flight


def user_message(text: str) -> dict[str, object]:
    """Return a message of the user as an Open Responses item."""
    content = [{"type": "input_text", "text": text}]
    return {"type": "message", "role": "user", "content": content}


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


def say_answer(text: str) -> None:
    """Print what the model said, when it said something."""
    if text:
        say(f"> {text}")


def ask(question: str, *answers: str) -> str:
    """Return one of the answers, from the person at the terminal; empty without a terminal."""
    if not sys.stdin.isatty():
        return ""
    while True:
        given = input(f"{question} [{'/'.join(answers)}] ").strip()
        if given in answers:
            return given


def took_over(holder: LockHolder) -> None:
    """Say that the lock of a dead process was taken over."""
    say(f"the lock of a process that is gone was taken over: pid {holder.pid} on {holder.host}")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        description="A small agent that records what it does.", epilog="See the top of this file."
    )
    parser.add_argument("prompt", nargs="?", default="", help="what the agent is to do")
    parser.add_argument("--root", default="sessions", help="store of sessions (default: sessions)")
    parser.add_argument("--dir", default=".", help="the project's directory (default: .)")
    parser.add_argument("--cwd", help="the directory's name in the record (default: its path)")
    parser.add_argument("--base-url", help="the endpoint (default: OPENAI_BASE_URL, else OpenAI)")
    parser.add_argument("--model", default=os.environ.get("OPENAI_MODEL", "gpt-5-mini"))
    parser.add_argument("--resume", metavar="ID", help="go on with a session")
    held = parser.add_mutually_exclusive_group()
    held.add_argument("--approve", dest="held", action="store_const", const="approve", default="")
    held.add_argument("--deny", dest="held", action="store_const", const="deny")
    in_flight = parser.add_mutually_exclusive_group()
    for answer in ("retry", "abandon"):
        in_flight.add_argument(
            f"--{answer}", dest="in_flight", action="store_const", const=answer, default=""
        )
    options = parser.parse_args(arguments)
    if not options.prompt and not options.resume:
        parser.error("give a prompt, or --resume with the id of a session")
    return options


def work(options: argparse.Namespace, store: JSONLStore, client: openai.OpenAI) -> int:
    """Run the agent once; return its exit code."""
    directory = Path(options.dir).resolve()
    if options.resume:
        session = store.open(options.resume)
    else:
        header = ags.Header(
            harness=ags.Harness("record-agent", VERSION),
            records=ags.ALL_RECORDS,
            cwd=options.cwd or str(directory),
        )
        session = store.create(header)
    answers = {"held": options.held, "in_flight": options.in_flight}
    agent = Agent(store, session, client, Toolbox(directory), **answers)
    say(f"session {session.id}")
    if session.leaf is None:
        agent.configure(options.model)
    agent.report()
    needed = agent.unanswered()
    if not needed:
        reason = agent.run(options.prompt)
        if reason == "done":
            return 0
        if reason != "input_required":
            say(f"the run ended: {reason} (go on with --resume {session.id})")
            return 1
        needed = agent.unanswered()
    say(f"{needed} (with --resume {session.id})")
    return NEEDS_ANSWER


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the agent from the command line; return its exit code."""
    options = parse(arguments)
    try:
        with (
            openai.OpenAI(base_url=options.base_url) as client,
            JSONLStore(options.root, on_stale_lock=took_over) as store,
        ):
            return work(options, store, client)
    except (ags.AgentSessionError, openai.OpenAIError, OSError) as error:
        print(f"record_agent: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
