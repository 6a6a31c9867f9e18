"""Settings and surroundings of V1 steps: config and env entries where they change."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from agentsession.entries import ConfigEntry
from agentsession.importers.opencode import names, values
from agentsession.importers.opencode.convert.draft import NAMESPACE
from agentsession.importers.opencode.convert.frame import Frame
from agentsession.importers.opencode.convert.rules import Rules, release_of
from agentsession.importers.opencode.convert.units import without
from agentsession.importers.opencode.v1 import Message
from agentsession.importers.prompts import prompt_parts
from agentsession.record_entries import EnvEntry

_TELLING: Final = ("modelID", "providerID", "variant", "agent", "mode", "system")
_TEXTS: Final = frozenset({str, type(None)})
_PROMPT: Final = ("tools", "system", "format")

InForce = tuple[dict[str, str], dict[str, Any], list[str]]
"""What the last config entry said: the setting, what the prompt added, the system prompt."""


class Configuration:
    """Writes what changes in the settings and surroundings of a session's steps."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._cwd = frame.draft.header.cwd
        self._planned = False
        # What the last assistant's message told, and the setting that is.
        self._told: tuple[Any, ...] = ()
        self._said: dict[str, str] = {}
        # What the last ordinary step told, and what was in force behind it.
        self._followed: tuple[Any, ...] = ()
        self._in_force: Any = None

    def first(self) -> None:
        """Write the first settings, before anything else."""
        for place, record in enumerate(self._frame.records):
            if record.info is not None and self._setting(place).get("model"):
                self.configure(place)
                return

    def follow(self, place: int, info: Message, rules: Rules) -> None:
        """Write what an assistant's step changes in settings and surroundings, if anything."""
        draft, cwd = self._frame.draft, _cwd(info)
        told = (*map(info.value.get, _TELLING), rules.version)
        if told == self._followed and cwd == self._cwd and draft.configured is self._in_force:
            return
        self.configure(place)
        self.move(place, info)
        self.remind(info)
        # Whoever planned is reminded of it by each step; odd values are not worth a comparison.
        settled = not self._planned and cwd and _TEXTS.issuperset(map(type, told[:-1]))
        self._followed, self._in_force = told if settled else (), draft.configured

    def configure(self, place: int) -> None:
        """Write a config entry when a message's settings are not those in force."""
        frame, info = self._frame, self._frame.info(place)
        setting = self._setting(place)
        if not setting.get("model"):
            return
        configured = frame.draft.configured
        in_force: InForce = configured if isinstance(configured, tuple) else ({}, {}, [])
        prompt = in_force[1]
        if (
            info.role != names.ROLE_USER
            and setting is in_force[0]
            and info.value.get("system") is None
        ):
            return
        if info.role == names.ROLE_USER:
            prompt = {n: info.value[n] for n in _PROMPT if values.truthy(info.value.get(n))}
        system = info.system if isinstance(info.system, list) else []
        texts = [part for part in system if isinstance(part, str)] or in_force[2]
        wanted: InForce = (setting, prompt, texts)
        if in_force == wanted:
            return
        unknown: dict[str, Any] = {}
        if "provider" in setting:
            unknown["provider"] = setting["provider"]
        beside = {**without(dict(setting), {"model", "provider"}), **prompt}
        if beside:
            unknown[NAMESPACE] = frame.draft.kept(beside)
        entry = ConfigEntry(
            model=setting["model"],
            instructions_parts=prompt_parts(texts, in_force[2]),
            unknown=unknown,
        )
        frame.draft.configured = wanted
        frame.draft.configure(entry, frame.records[place].id, frame.at(place))

    def _setting(self, place: int) -> dict[str, str]:
        frame = self._frame
        info, version = frame.info(place), frame.timeline.rules(place).version
        model, provider, variant, agent = _told(info)
        is_user = info.role == names.ROLE_USER
        told = (model, provider, variant, agent, version)
        if not is_user and told == self._told:
            return self._said
        if is_user:
            model = provider = ""
            if info.model is not None:
                model, provider = info.model.model_id, info.model.provider_id
                variant = info.model.variant or variant
        said = _setting(model, provider, agent, variant, release_of(version))
        if not is_user:
            self._told, self._said = told, said
        return said

    def move(self, place: int, info: Message) -> None:
        """Write an env entry when a step ran in another directory than the one before."""
        cwd = _cwd(info)
        if cwd and cwd != self._cwd:
            self._cwd = cwd
            frame = self._frame
            frame.draft.add(EnvEntry(cwd=cwd), frame.records[place].id, "env", frame.at(place))

    def remind(self, info: Message) -> None:
        """Note a reminder that stood on the wire alone. Spec: opencode 6.2."""
        agent = _told(info)[3]
        if agent == "plan" or (agent == "build" and self._planned):
            accounts = self._frame.accounts
            accounts.find("plan-reminder-not-stored", self._frame.draft.header.id)
        self._planned = self._planned or agent == "plan"


def _told(info: Message) -> tuple[str, str, str, str]:
    """Return the model, the provider, the variant and the agent that a message itself names."""
    model, provider, variant, agent, mode = [
        value if type(value) is str else "" for value in map(info.value.get, _TELLING[:-1])
    ]
    return model, provider, variant, agent or mode


def _cwd(info: Message) -> str:
    return values.metadata_string(info.value.get("path"), "cwd")


@lru_cache(maxsize=256)
def _setting(model: str, provider: str, agent: str, variant: str, release: str) -> dict[str, str]:
    setting = {
        "model": model,
        "provider": provider,
        "agent": agent,
        "variant": variant,
        "release": release,
    }
    return {name: value for name, value in setting.items() if value}
