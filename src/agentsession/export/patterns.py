r"""The kinds of credentials the detector knows.

Each kind hangs on an anchor: a piece of text that is cheap to search for and rare elsewhere.
How fast that is decides over the anchor's form: a rare character is found by the fastest
search there is, a frequent one only as the first letter of an expression. A hit says where to
look closer, no more.

And each kind has a looser form of its expression, for a search that takes all kinds at once and
knows neither context nor characters beyond ASCII: there is none of the kind where that one does
not match.

Spec: export 11.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from agentsession.export.anchoring import BLANK, Places, folded, loosened, with_digit
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
        near: an expression for `~agentsession.export.anchoring` that matches wherever this kind
            is, and begins within its reach of the anchor's hit.
    """

    kind: str
    expression: re.Pattern[str]
    accept: Accept = _always
    start: Start = _here
    near: str = ""

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
    near = rf"\b{loosened(expression)}"
    return Pattern(kind, compiled, _is_random_token if random else _always, _before(before), near)


def _is_random_token(match: re.Match[str]) -> bool:
    return is_random(match["secret"])


@dataclass(frozen=True, slots=True)
class Anchor:
    """Where to look closer.

    Attributes:
        needle: the text each hit starts with.
        expression: matches at a hit, but not what could be the beginning of another.
        patterns: the kinds that may be there, the first that is one counts.
        rare: whether the needle is rare enough to be searched for by itself.
    """

    needle: str
    expression: re.Pattern[str]
    patterns: tuple[Pattern, ...]
    rare: bool

    def hits(self, text: str, places: Places | None = None) -> Iterator[int]:
        """Yield where there are hits in a text, or in these places of it."""
        if places is None and not self.rare:
            for found in self.expression.finditer(text):
                yield found.start()
            return
        size = len(self.needle)
        for start, end in ((0, len(text)),) if places is None else places:
            hit = text.find(self.needle, start, end + size)
            while hit >= 0:
                if self.expression.match(text, hit):
                    yield hit
                hit = text.find(self.needle, hit + 1, end + size)


def _anchor(needle: str, rest: str, *patterns: Pattern, rare: bool = True) -> Anchor:
    return Anchor(needle, re.compile(f"{re.escape(needle)}(?:{rest})"), patterns, rare)


# Quantifiers of long runs are possessive: what they took is never given back, so a hit costs
# no more than the run is long.
_WORD: Final = r"[A-Za-z0-9_-]"
_QUOTE: Final = r"\\*[\"'`]"
_ASSIGN: Final = rf"(?:{_QUOTE})?\s{{0,3}}(?:=>|:=|==|[=:])\s{{0,3}}"
# In quotes a value may have any sign; without them it ends at the first that ends a word.
_QUOTED_END: Final = r"\s\"'`\\"
_UNQUOTED_END: Final = r"\s\"'`\\,;<>(){}\[\]|&"
_VALUE: Final = (
    rf"(?P<quote>{_QUOTE})?(?P<secret>(?(quote)[^{_QUOTED_END}]{{8,256}}+|[^{_UNQUOTED_END}]{{8,256}}+))"
    rf"(?(quote)(?=\\*[\"'`]))"
)
# The loose forms of values say what `is_password` and `is_credential_value` ask for at least.
_NEAR_PASSWORD: Final = rf"(?:{_QUOTE}[^{_QUOTED_END}]{{8,}}{_QUOTE}|{with_digit(_UNQUOTED_END)})"
_NEAR_CREDENTIAL: Final = rf"(?:{_QUOTE}{with_digit(_QUOTED_END)}|{with_digit(_UNQUOTED_END)})"


def _assigned(kind: str, names: str, accept: Accept, near: str) -> Pattern:
    """A value with one of these names, or with one that ends so."""
    name = rf"(?P<name>[A-Za-z0-9_.\-]{{0,40}}(?:{names}))"
    expression = re.compile(name + _ASSIGN + _VALUE, re.IGNORECASE)
    ends = "|".join(map(folded, names.split("|")))
    return Pattern(kind, expression, accept, _name_start, f"(?:{ends}){loosened(_ASSIGN)}{near}")


def _flag(kind: str, name: str, accept: Accept, near: str) -> Pattern:
    """An option of a command and its value."""
    expression = re.compile(rf"--(?P<name>{name})\s{{1,3}}{_VALUE}")
    return Pattern(kind, expression, accept, _name_start, f"--{name}{BLANK}{{1,3}}{near}")


_IS: Final = r"(?:\\*[\"'`])?\s{0,3}[=:]"
_FLAG: Final = r"(?<=--%s)\s"
_PASSWORD: Final = _assigned(
    "password", "password|passwd|pwd|passphrase", is_password, _NEAR_PASSWORD
)
# In an environment whatever stands before the next blank is the value.
_VARIABLE_END: Final = r"\s\"'`\\,;<>(){}"
_PASSWORD_VARIABLE: Final = Pattern(
    "password",
    re.compile(
        rf"(?P<name>[A-Z0-9_]{{0,40}}(?:PASSWORD|PASSWD|PWD))="
        rf"(?P<quote>)(?P<secret>[^{_VARIABLE_END}]{{8,256}}+)"
    ),
    is_password,
    _name_start,
    f"P(?:ASSWORD|ASSWD|WD)={with_digit(_VARIABLE_END)}",
)
_BEARER: Final = r" (?P<secret>[A-Za-z0-9._~+/=-]{16,8000}+)"
_BASIC: Final = r" (?P<secret>[A-Za-z0-9+/]{8,2000}+={0,2})(?![A-Za-z0-9+/=])"
_HEADER_SIGNS: Final = rf"(?:{_QUOTE})?\s{{0,3}}[:=]\s{{0,3}}(?:{_QUOTE})?"
_HEADER: Final = f"horization{_HEADER_SIGNS}"


def _authorization(scheme: str, value: str, accept: Accept) -> tuple[Pattern, Pattern]:
    """The value of a header without the header's name before it, and with it."""
    exact = rf"\b(?i:{scheme}){value}"
    near = folded(scheme) + loosened(value)
    # In small letters the words are too common to be looked at without the header's name.
    alone = f"{scheme[0].upper()}{folded(scheme[1:])}{loosened(value)}"
    return (
        Pattern("authorization", re.compile(exact), accept, near=alone),
        Pattern(
            "authorization", re.compile(_HEADER + exact), accept, near=loosened(_HEADER) + near
        ),
    )


_BEARER_ALONE, _BEARER_HEADER = _authorization("bearer", _BEARER, _is_random_token)
_BASIC_ALONE, _BASIC_HEADER = _authorization("basic", _BASIC, is_userinfo)
_DOCKER_AUTH: Final = rf"auth{_QUOTE}\s{{0,3}}:\s{{0,3}}{_QUOTE}"
_DOCKER: Final = Pattern(
    "authorization",
    re.compile(rf"{_DOCKER_AUTH}(?P<secret>[A-Za-z0-9+/]{{8,2000}}+={{0,2}}){_QUOTE}"),
    is_userinfo,
    near=loosened(_DOCKER_AUTH) + "[A-Za-z0-9+/]{8}",
)
_CREDENTIAL: Final = _assigned("credential", "key|token", is_credential_value, _NEAR_CREDENTIAL)
_SECRET: Final = _assigned("credential", "secret", is_credential_value, _NEAR_CREDENTIAL)
_PASSWORD_FLAG: Final = _flag("password", "password", is_password, _NEAR_PASSWORD)
_CREDENTIAL_FLAG: Final = _flag(
    "credential", "(?:token|api-key)", is_credential_value, _NEAR_CREDENTIAL
)
_SK: Final = r"sk-(?:proj-|svcacct-|admin-|None-|or-v1-)?"
_GITLAB: Final = r"gl(?:pat|dt|rt|ptt|soat|cbt|ft|imt|agent|oas|ffct)-"
_ROUTING: Final = r"(?:\.[0-9A-Za-z]{2}\.[0-9A-Za-z]{7,9})?"
_XAPP: Final = r"xapp-[0-9]-[A-Z0-9]{8,20}-[0-9]{8,20}-[a-f0-9]{16,128}+"
_JWT_REST: Final = rf"\.eyJ{_WORD}{{4,8000}}+\.{_WORD}{{8,2000}}+"
_JWT: Final = rf"(?<![A-Za-z0-9_])(?P<secret>eyJ{_WORD}{{8,2000}}+{_JWT_REST})"
_KEY_KIND: Final = r"(?:[A-Z0-9]{1,20} ){0,4}"
_KEY_END: Final = r"PRIVATE KEY(?: BLOCK)?-----"
_KEY_BEGIN: Final = f"-----BEGIN {_KEY_KIND}{_KEY_END}"
_PRIVATE_KEY: Final = (
    rf"{_KEY_BEGIN}"
    rf"(?:(?:[^-]|-(?!----BEGIN )){{16,20000}}?-----END {_KEY_KIND}{_KEY_END}"
    rf"|[A-Za-z0-9+/=\\\s]{{16,20000}}+)"
)
_USERINFO: Final = r"//[^\s/:@\"'<>]{0,64}:(?P<secret>[^\s/:@\"'<>]{3,100})@[A-Za-z0-9\[]"
_NEAR_USERINFO: Final = r"//[^\s/:@\"'<>]*:[^\s/:@\"'<>]{3,}@[A-Za-z0-9\[]"
_WEBHOOK: Final = (
    r"hooks\.slack\.com\\*/(?P<secret>(?:services|workflows)[A-Za-z0-9/\\_-]{20,128}+)"
)

ANCHORS: Final[tuple[Anchor, ...]] = (
    _anchor(
        "k",
        rf"-(?=[A-Za-z0-9])|_live_|_test_|e[yn]{_IS}|en{_FLAG % 'token'}|ey{_FLAG % 'api-key'}",
        _token("anthropic-key", rf"sk-ant-[a-z0-9]{{2,12}}-{_WORD}{{20,200}}+", 1),
        _token("stripe-key", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,250}+", 1),
        _token("openai-key", rf"{_SK}{_WORD}{{20,250}}+", 1, random=True),
        _CREDENTIAL,
        _CREDENTIAL_FLAG,
        rare=False,
    ),
    _anchor(
        "g",
        r"h[opsru]_|ithub_pat_|sk_|l(?=[a-z]{2,5}-)",
        _token("github-token", r"gh[opsru]_[A-Za-z0-9]{36,255}+"),
        _token("github-token", r"github_pat_[A-Za-z0-9_]{22,255}+"),
        _token("groq-key", r"gsk_[A-Za-z0-9]{40,64}+"),
        _token("gitlab-token", rf"{_GITLAB}{_WORD}{{20,255}}+{_ROUTING}", random=True),
        rare=False,
    ),
    _anchor(
        "x",
        r"ox[abceoprs](?:-|\.)|app-|ai-|-(?=[A-Za-z0-9]{32})",
        _token("slack-token", rf"xox[abceoprs](?:\.xox[a-z])?-{_WORD}{{10,255}}+", random=True),
        _token("slack-token", _XAPP),
        _token("xai-key", r"xai-[A-Za-z0-9]{40,100}+"),
        _token("perplexity-key", r"pplx-[A-Za-z0-9]{32,64}+", 3),
        rare=False,
    ),
    _anchor("npm_", "", _token("npm-token", r"npm_[A-Za-z0-9]{36}")),
    _anchor(
        "A",
        rf"[KSB]I(?=A)|CC(?=A)|Iza|gEI|SSPHRASE{_IS}",
        _token("aws-key-id", r"A(?:KIA|SIA|BIA|CCA)[A-Z2-7]{16}"),
        _token("google-key", rf"AIza{_WORD}{{35}}"),
        _token("pypi-token", rf"pypi-AgEI{_WORD}{{40,400}}+", 5),
        _PASSWORD,
        rare=False,
    ),
    _anchor(
        "C",
        rf"(?<=GOC)SPX-|(?<=EC)RET{_IS}",
        _token("google-secret", rf"GOCSPX-{_WORD}{{20,40}}", 2),
        _SECRET,
        rare=False,
    ),
    _anchor(
        "J",
        r"(?<=\.eyJ)",
        Pattern("jwt", re.compile(_JWT), start=_token_start, near=loosened(_JWT_REST)),
    ),
    _anchor(
        "B",
        rf"earer |asic |EARER |ASIC |EGIN (?={_KEY_KIND}PRIVATE KEY)",
        Pattern(
            "private-key", re.compile(_PRIVATE_KEY), start=_before(len("-----")), near=_KEY_BEGIN
        ),
        _BEARER_ALONE,
        _BASIC_ALONE,
        rare=False,
    ),
    _anchor("horization", rf"{_HEADER_SIGNS}b", _BEARER_HEADER, _BASIC_HEADER),
    _anchor("auth", _QUOTE, _DOCKER),
    _anchor(
        "@",
        r"(?<=[^\s/:@\"'<>]{3}@)[A-Za-z0-9\[]",
        Pattern(
            "url-password", re.compile(_USERINFO), is_password, _authority_start, _NEAR_USERINFO
        ),
    ),
    _anchor(
        "hooks.slack.com",
        "",
        Pattern("slack-webhook", re.compile(_WEBHOOK), near=loosened(_WEBHOOK)),
    ),
    _anchor("W", rf"(?:OR)?D{_IS}", _PASSWORD_VARIABLE, _PASSWORD),
    _anchor(
        "w",
        rf"(?<=assw)(?:or)?d(?:{_IS}|{_FLAG % 'password'})|(?<=[pP]w)d{_IS}|hsec_",
        _token("stripe-key", r"whsec_[A-Za-z0-9+/]{24,250}+={0,2}"),
        _PASSWORD,
        _PASSWORD_FLAG,
        rare=False,
    ),
    _anchor("assphrase", _IS, _PASSWORD),
    _anchor("hf_", "", _token("huggingface-token", r"hf_[A-Za-z0-9]{34}")),
    _anchor("K", rf"(?:ey|en|EY|EN){_IS}", _CREDENTIAL),
    _anchor("ecret", _IS, _SECRET),
)
"""What to search for, and what may be found there."""
