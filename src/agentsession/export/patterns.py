r"""The kinds of credentials the detector knows.

Each kind hangs on an anchor: a piece of text that is cheap to search for and rare elsewhere.
How fast that is decides over the anchor's form: a rare character is found by the fastest
search there is, a frequent one only as the first letter of an expression. A hit says where to
look closer, no more.

Spec: export 11.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from agentsession.export.judgement import (
    is_credential_value,
    is_password,
    is_random,
    is_userinfo,
)

Accept = Callable[[re.Match[str]], bool]
Start = Callable[[str, int], int]
"""Where a match begins, from the text and the place of an anchor's hit; -1 for nowhere."""


def _always(match: re.Match[str]) -> bool:
    del match
    return True


def _here(text: str, hit: int) -> int:
    del text
    return hit


def _before(distance: int) -> Start:
    """A match that begins so many characters before the hit."""
    return lambda _text, hit: hit - distance


_NAME_CHARACTERS: Final = "".join(
    [*(chr(code) for code in range(128) if chr(code).isalnum()), "_.-"]
)


def _name_start(text: str, hit: int) -> int:
    """The beginning of the name that the hit is the end of."""
    segment = text[max(0, hit - 40) : hit]
    return hit - len(segment) + len(segment.rstrip(_NAME_CHARACTERS))


def _token_start(text: str, hit: int) -> int:
    """The beginning of a web token whose second part begins before the hit."""
    first = text[max(0, hit - 2003) : max(0, hit - 3)]
    return hit - 3 - len(first) + len(first.rstrip(_NAME_CHARACTERS.replace(".", "")))


def _authority_start(text: str, hit: int) -> int:
    """The slashes before the user name and password in a URL."""
    return text.rfind("//", max(0, hit - 170), hit)


@dataclass(frozen=True, slots=True)
class Pattern:
    """One kind of credential.

    Attributes:
        kind: its name, in kebab-case.
        expression: matches it; the group ``secret`` is what is taken out, or the whole match.
        accept: whether a match is one after all.
        start: where a match begins.
    """

    kind: str
    expression: re.Pattern[str]
    accept: Accept = _always
    start: Start = _here

    def at(self, text: str, hit: int) -> tuple[int, int] | None:
        """Return where the secret stands that a hit belongs to, or ``None``."""
        start = self.start(text, hit)
        match = self.expression.match(text, start) if start >= 0 else None
        return self.span(match) if match is not None and self.accept(match) else None

    def span(self, match: re.Match[str]) -> tuple[int, int]:
        """Return what of a match is the secret."""
        group = "secret" if "secret" in self.expression.groupindex else 0
        return match.span(group)


def _token(kind: str, expression: str, before: int = 0, *, random: bool = False) -> Pattern:
    """A token with a prefix of its own, not in the middle of a word."""
    compiled = re.compile(rf"(?<![A-Za-z0-9_])(?P<secret>{expression})(?![A-Za-z0-9_])")
    return Pattern(kind, compiled, _is_random_token if random else _always, _before(before))


def _is_random_token(match: re.Match[str]) -> bool:
    return is_random(match["secret"])


@dataclass(frozen=True, slots=True)
class Anchor:
    """Where to look closer.

    Attributes:
        expression: matches at a hit.
        patterns: the kinds that may be there, the first that is one counts.
        needle: a text each hit starts with, when that is rare enough to be searched for.
    """

    expression: re.Pattern[str]
    patterns: tuple[Pattern, ...]
    needle: str = ""

    def hits(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the hits in a text."""
        if not self.needle:
            yield from self.expression.finditer(text)
            return
        position = text.find(self.needle)
        while position >= 0:
            hit = self.expression.match(text, position)
            if hit is not None:
                yield hit
            position = text.find(self.needle, position + 1)


def _anchor(expression: str, *patterns: Pattern, needle: str = "") -> Anchor:
    return Anchor(re.compile(expression), patterns, needle)


# Quantifiers of long runs are possessive: what they took is never given back, so a hit costs
# no more than the run is long.
_WORD: Final = r"[A-Za-z0-9_-]"
_QUOTE: Final = r"\\*[\"'`]"
_ASSIGN: Final = rf"(?:{_QUOTE})?\s{{0,3}}(?:=>|:=|==|[=:])\s{{0,3}}"
# In quotes a value may have any sign; without them it ends at the first that ends a word.
_VALUE: Final = (
    rf"(?P<quote>{_QUOTE})?"
    rf"(?P<secret>(?(quote)[^\s\"'`\\]{{8,256}}+|[^\s\"'`\\,;<>(){{}}\[\]|&]{{8,256}}+))"
    rf"(?(quote)(?=\\*[\"'`]))"
)


def _assigned(kind: str, name: str, accept: Accept) -> Pattern:
    expression = re.compile(name + _ASSIGN + _VALUE, re.IGNORECASE)
    return Pattern(kind, expression, accept, _name_start)


def _flag(kind: str, name: str, accept: Accept) -> Pattern:
    """An option of a command and its value."""
    expression = re.compile(rf"--(?P<name>{name})\s{{1,3}}{_VALUE}")
    return Pattern(kind, expression, accept, _name_start)


_NAMED: Final = r"(?P<name>[A-Za-z0-9_.\-]{0,40}%s)"

_IS: Final = r"(?:\\*[\"'`])?\s{0,3}[=:]"
_FLAG: Final = r"(?<=--%s)\s"
_PASSWORD: Final = _assigned(
    "password", _NAMED % r"(?:password|passwd|pwd|passphrase)", is_password
)
# In an environment whatever stands before the next blank is the value.
_PASSWORD_VARIABLE: Final = Pattern(
    "password",
    re.compile(
        r"(?P<name>[A-Z0-9_]{0,40}(?:PASSWORD|PASSWD|PWD))="
        r"(?P<quote>)(?P<secret>[^\s\"'`\\,;<>(){}]{8,256}+)"
    ),
    is_password,
    _name_start,
)
_BEARER: Final = r"\b(?i:bearer) (?P<secret>[A-Za-z0-9._~+/=-]{16,8000}+)"
_BASIC: Final = r"\b(?i:basic) (?P<secret>[A-Za-z0-9+/]{8,2000}+={0,2})(?![A-Za-z0-9+/=])"
_HEADER: Final = rf"horization(?:{_QUOTE})?\s{{0,3}}[:=]\s{{0,3}}(?:{_QUOTE})?"
_DOCKER: Final = Pattern(
    "authorization",
    re.compile(
        rf"auth{_QUOTE}\s{{0,3}}:\s{{0,3}}{_QUOTE}(?P<secret>[A-Za-z0-9+/]{{8,2000}}+={{0,2}}){_QUOTE}"
    ),
    is_userinfo,
)
_CREDENTIAL: Final = _assigned("credential", _NAMED % r"(?:key|token)", is_credential_value)
_SECRET: Final = _assigned("credential", _NAMED % r"secret", is_credential_value)
_PASSWORD_FLAG: Final = _flag("password", "password", is_password)
_CREDENTIAL_FLAG: Final = _flag("credential", "(?:token|api-key)", is_credential_value)
_SK: Final = r"sk-(?:proj-|svcacct-|admin-|None-|or-v1-)?"
_GITLAB: Final = r"gl(?:pat|dt|rt|ptt|soat|cbt|ft|imt|agent|oas|ffct)-"
_ROUTING: Final = r"(?:\.[0-9A-Za-z]{2}\.[0-9A-Za-z]{7,9})?"
_XAPP: Final = r"xapp-[0-9]-[A-Z0-9]{8,20}-[0-9]{8,20}-[a-f0-9]{16,128}"
_JWT: Final = rf"(?P<secret>eyJ{_WORD}{{8,2000}}+\.eyJ{_WORD}{{4,8000}}+\.{_WORD}{{8,2000}}+)"
_KEY_KIND: Final = r"(?:[A-Z0-9]{1,20} ){0,4}"
_KEY_END: Final = r"PRIVATE KEY(?: BLOCK)?-----"
_PRIVATE_KEY: Final = (
    rf"-----BEGIN {_KEY_KIND}{_KEY_END}"
    rf"(?:(?:[^-]|-(?!----BEGIN )){{16,20000}}?-----END {_KEY_KIND}{_KEY_END}"
    rf"|[A-Za-z0-9+/=\\\s]{{16,20000}}+)"
)
_USERINFO: Final = r"//[^\s/:@\"'<>]{0,64}:(?P<secret>[^\s/:@\"'<>]{3,100})@[A-Za-z0-9\[]"
_WEBHOOK: Final = r"hooks\.slack\.com\\*/(?P<secret>(?:services|workflows)[A-Za-z0-9/\\_-]{20,128})"

ANCHORS: Final[tuple[Anchor, ...]] = (
    _anchor(
        rf"k(?:-[A-Za-z0-9]|_live_|_test_|e[yn]{_IS}|en{_FLAG % 'token'}|ey{_FLAG % 'api-key'})",
        _token("anthropic-key", rf"sk-ant-[a-z0-9]{{2,12}}-{_WORD}{{20,200}}+", 1),
        _token("stripe-key", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,250}+", 1),
        _token("openai-key", rf"{_SK}{_WORD}{{20,250}}+", 1, random=True),
        _CREDENTIAL,
        _CREDENTIAL_FLAG,
    ),
    _anchor(
        r"g(?:h[opsru]_|ithub_pat_|sk_|l[a-z]{2,5}-)",
        _token("github-token", r"gh[opsru]_[A-Za-z0-9]{36,255}+"),
        _token("github-token", r"github_pat_[A-Za-z0-9_]{22,255}+"),
        _token("groq-key", r"gsk_[A-Za-z0-9]{40,64}+"),
        _token("gitlab-token", rf"{_GITLAB}{_WORD}{{20,255}}+{_ROUTING}", random=True),
    ),
    _anchor(
        r"x(?:ox[abceoprs](?:-|\.)|app-|ai-|-[A-Za-z0-9]{32})",
        _token("slack-token", rf"xox[abceoprs](?:\.xox[a-z])?-{_WORD}{{10,255}}+", random=True),
        _token("slack-token", _XAPP),
        _token("xai-key", r"xai-[A-Za-z0-9]{40,100}+"),
        _token("perplexity-key", r"pplx-[A-Za-z0-9]{32,64}+", 3),
    ),
    _anchor(r"npm_", _token("npm-token", r"npm_[A-Za-z0-9]{36}"), needle="npm_"),
    _anchor(
        rf"A(?:KIA|SIA|BIA|CCA|Iza|gEI|SSPHRASE{_IS})",
        _token("aws-key-id", r"A(?:KIA|SIA|BIA|CCA)[A-Z2-7]{16}"),
        _token("google-key", rf"AIza{_WORD}{{35}}"),
        _token("pypi-token", rf"pypi-AgEI{_WORD}{{40,400}}+", 5),
        _PASSWORD,
    ),
    _anchor(
        rf"C(?:(?<=GOC)SPX-|(?<=EC)RET{_IS})",
        _token("google-secret", rf"GOCSPX-{_WORD}{{20,40}}", 2),
        _SECRET,
    ),
    _anchor(
        r"J(?<=\.eyJ)",
        Pattern("jwt", re.compile(rf"(?<![A-Za-z0-9_]){_JWT}"), start=_token_start),
        needle="J",
    ),
    _anchor(
        rf"B(?:earer |asic |EARER |ASIC |EGIN {_KEY_KIND}PRIVATE KEY)",
        Pattern("private-key", re.compile(_PRIVATE_KEY), start=_before(len("-----"))),
        Pattern("authorization", re.compile(_BEARER), _is_random_token),
        Pattern("authorization", re.compile(_BASIC), is_userinfo),
    ),
    # In small letters the words are too common to be looked at without the header's name.
    _anchor(
        rf"{_HEADER}b",
        Pattern("authorization", re.compile(_HEADER + _BEARER), _is_random_token),
        Pattern("authorization", re.compile(_HEADER + _BASIC), is_userinfo),
        needle="horization",
    ),
    _anchor(rf"auth{_QUOTE}", _DOCKER, needle="auth"),
    _anchor(
        r"@(?<=[^\s/:@\"'<>]{3}@)[A-Za-z0-9\[]",
        Pattern("url-password", re.compile(_USERINFO), is_password, _authority_start),
        needle="@",
    ),
    _anchor(
        r"hooks\.slack\.com",
        Pattern("slack-webhook", re.compile(_WEBHOOK)),
        needle="hooks.slack.com",
    ),
    _anchor(rf"W(?:OR)?D{_IS}", _PASSWORD_VARIABLE, _PASSWORD, needle="W"),
    _anchor(
        rf"w(?:(?<=assw)(?:or)?d(?:{_IS}|{_FLAG % 'password'})|(?<=[pP]w)d{_IS}|hsec_)",
        _token("stripe-key", r"whsec_[A-Za-z0-9+/]{24,250}+={0,2}"),
        _PASSWORD,
        _PASSWORD_FLAG,
    ),
    _anchor(rf"assphrase{_IS}", _PASSWORD, needle="assphrase"),
    _anchor(r"hf_", _token("huggingface-token", r"hf_[A-Za-z0-9]{34}"), needle="hf_"),
    _anchor(rf"K(?:ey|en|EY|EN){_IS}", _CREDENTIAL, needle="K"),
    _anchor(rf"ecret{_IS}", _SECRET, needle="ecret"),
)
"""What to search for, and what may be found there."""
