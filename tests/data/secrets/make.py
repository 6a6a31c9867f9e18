"""Writes corpus.jsonl: texts as agents see them, with invented credentials and with none.

Run ``python tests/data/secrets/make.py``.
"""

from __future__ import annotations

import base64
import json
import random
import string
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

BASE62 = string.ascii_letters + string.digits
WORD = BASE62 + "_-"
HEX = "0123456789abcdef"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

dice = random.Random(20260917)


def some(alphabet: str, length: int) -> str:
    """Random characters, letters and digits certainly among them."""
    while True:
        found = "".join(dice.choice(alphabet) for _ in range(length))
        if any(c.isdigit() for c in found) and any(c.isalpha() for c in found):
            return found


def b64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def jwt() -> str:
    head = b64url(json.dumps({"alg": "HS256", "typ": "JWT"}).encode())
    body = b64url(json.dumps({"sub": some(HEX, 12), "iat": 1767225600}).encode())
    return f"{head}.{body}.{some(WORD, 43)}"


def private_key() -> str:
    kind = dice.choice(["RSA ", "EC ", "OPENSSH ", ""])
    rows = "\n".join(some(BASE62 + "+/", 64) for _ in range(dice.randint(3, 12)))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{rows}\n-----END {kind}PRIVATE KEY-----"


def password() -> str:
    words = dice.choice(["Tr0ub4dor", "hunter", "S0mmer", "correcthorse", "qwertz", "admin"])
    return f"{words}{dice.choice('!#%^_-.')}{some(BASE62, dice.randint(3, 8))}"


def pair() -> str:
    return base64.b64encode(f"ann:{password()}".encode()).decode()


TOKENS: dict[str, Callable[[], str]] = {
    "openai-key": lambda: dice.choice(
        [f"sk-{some(BASE62, 48)}", f"sk-proj-{some(WORD, 120)}", f"sk-svcacct-{some(WORD, 60)}"]
    ),
    "anthropic-key": lambda: f"sk-ant-api03-{some(WORD, 93)}AA",
    "google-key": lambda: f"AIza{some(WORD, 35)}",
    "google-secret": lambda: f"GOCSPX-{some(WORD, 28)}",
    "groq-key": lambda: f"gsk_{some(BASE62, 52)}",
    "xai-key": lambda: f"xai-{some(BASE62, 80)}",
    "perplexity-key": lambda: f"pplx-{some(BASE62, 48)}",
    "aws-key-id": lambda: f"{dice.choice(['AKIA', 'ASIA'])}{some(UPPER, 16)}",
    "github-token": lambda: dice.choice(
        [
            f"gh{dice.choice('opsu')}_{some(BASE62, 36)}",
            f"github_pat_{some(BASE62, 22)}_{some(BASE62, 59)}",
        ]
    ),
    "gitlab-token": lambda: f"glpat-{some(WORD, 20)}",
    "slack-token": lambda: (
        f"xox{dice.choice('bp')}-{dice.randint(10**10, 10**11)}"
        f"-{dice.randint(10**11, 10**12)}-{some(BASE62, 24)}"
    ),
    "npm-token": lambda: f"npm_{some(BASE62, 36)}",
    "pypi-token": lambda: f"pypi-AgEIcHlwaS5vcmcC{some(WORD, 150)}",
    "stripe-key": lambda: (
        f"{dice.choice(['sk', 'rk'])}_{dice.choice(['live', 'test'])}_{some(BASE62, 24)}"
    ),
    "jwt": jwt,
    "private-key": private_key,
}

FRAMES = (
    "export KEY_FOR_LATER={}\n",
    "The value you asked for is {} and it still works.",
    '{{"command": "curl -H \\"x-api: {}\\" https://api.test/v1/items"}}',
    "$ env | sort\nHOME=/root\nPATH=/usr/bin:/bin\nX={}\nZ=1\n",
    "const client = new Client('{}');\n",
    "error: 401 for {}\n    at login (src/auth.ts:10:3)\n",
    "- name: value\n  value: {}\n",
    "https://api.test/hook?x=1&auth={}",
)


def tokens() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    for kind, make in TOKENS.items():
        for number in range(12):
            value = make()
            frame = FRAMES[number % len(FRAMES)]
            if kind == "private-key" and frame.startswith("{{"):
                frame = "cat id_key\n{}\n"
            yield frame.format(value), [(kind, value)]


def headers() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    for number in range(12):
        value = some(BASE62, 40)
        text = f"> GET /v1 HTTP/1.1\n> Authorization: Bearer {value}\n> Accept: */*"
        yield text, [("authorization", value)]
        pair = base64.b64encode(f"user{number}:{password()}".encode()).decode()
        yield f'headers = {{"Authorization": "Basic {pair}"}}', [("authorization", pair)]


def urls() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    schemes = ("postgres", "https", "redis", "amqp", "mongodb+srv", "ftp")
    for number in range(18):
        value = f"p{some(BASE62, dice.randint(5, 20))}"
        scheme = schemes[number % len(schemes)]
        yield (
            f"DATABASE={scheme}://svc:{value}@db-{number}.internal:5432/app",
            [("url-password", value)],
        )
    for _ in range(6):
        value = f"services/T{some(UPPER, 8)}/B{some(UPPER, 8)}/{some(BASE62, 24)}"
        yield f"curl -X POST https://hooks.slack.com/{value}", [("slack-webhook", value)]


HARD = (
    ("The password is {} (keep it safe).", "password", password),
    ("mysql -u root -p{} app", "password", password),
    ("curl -u admin:{} https://api.test", "password", password),
    ("login: ann / {}", "password", password),
    ("./deploy --token {} --env prod", "credential", lambda: some(BASE62, 40)),
    ("tool --password {}", "password", password),
    ("password: {}", "password", lambda: "correct-horse-battery-staple"),
    ('"api_key": "{}"', "credential", lambda: "abcdefghijklmnopqrstuvwx"),
    ("x-api-key: {}", "credential", lambda: some(HEX, 32)),
    ("pwd={};Server=db;", "password", password),
)
"""How people really write them down; some of these cannot be told from prose."""

ASSIGNED = (
    ("password={}", "password", password),
    ('"password": "{}"', "password", password),
    ('{{\\"password\\": \\"{}\\"}}', "password", password),
    ("DB_PASSWORD={}", "password", password),
    ("spring.datasource.password: {}", "password", password),
    ("passwd = '{}'", "password", password),
    ('api_key = "{}"', "credential", lambda: some(BASE62, 32)),
    ("apiKey: '{}',", "credential", lambda: some(HEX, 32)),
    ("AWS_SECRET_ACCESS_KEY={}", "credential", lambda: some(BASE62 + "/+", 40)),
    (
        "AccountKey={};EndpointSuffix=core.windows.net",
        "credential",
        lambda: some(BASE62 + "+/", 86) + "==",
    ),
    ("client_secret: {}", "credential", lambda: some(BASE62, 32)),
    ("CLIENT_SECRET='{}'", "credential", lambda: some(WORD, 40)),
    ("access_token={}&x=1", "credential", lambda: some(BASE62, 40)),
    ("GITHUB_TOKEN: {}", "credential", lambda: some(HEX, 40)),
    ("HF_TOKEN=hf_{}", "credential", lambda: some(BASE62, 34)),
    ('token: "{}"', "credential", lambda: some(BASE62, 24)),
)


def assignments() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    for frame, kind, make in (*ASSIGNED, *HARD):
        for _ in range(4 if (frame, kind, make) in ASSIGNED else 2):
            value = make()
            full = f"hf_{value}" if "hf_" in frame else value
            yield f"# settings\n{frame.format(value)}\nx = 1\n", [(kind, full)]


SPELLED: tuple[tuple[str, str, Callable[[], str]], ...] = (
    ("authorization: bearer {}", "authorization", lambda: some(BASE62, 40)),
    ("AUTHORIZATION: BEARER {}", "authorization", lambda: some(BASE62, 40)),
    ('{{"authorization": "basic {}"}}', "authorization", pair),
    ('{{"auths": {{"r.test": {{"auth": "{}"}}}}}}', "authorization", pair),
    ("Server=db;Uid=sa;Pwd={};", "password", password),
    ("pwd={};", "password", password),
    ('password="{}"', "password", lambda: f"p@$;w0rd,({some(BASE62, 3)})"),
    ("DB_PASSWORD={}", "password", lambda: f"ab&{some(BASE62, 6)}|x"),
    ("passphrase={}", "password", password),
    ("GPG_PASSPHRASE: {}", "password", password),
    ("Stripe signs with {}", "stripe-key", lambda: f"whsec_{some(BASE62, 32)}"),
    ("login with {}", "huggingface-token", lambda: f"hf_{some(BASE62, 34)}"),
    ("git push with {}", "gitlab-token", lambda: f"glpat-{some(BASE62, 27)}.01.{some(HEX, 9)}"),
)
"""The same kinds in other spellings."""


def spelled() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    for frame, kind, make in SPELLED:
        for _ in range(6):
            value = make()
            yield f"# here\n{frame.format(value)}\n", [(kind, value)]
    for text in STILL_HARMLESS:
        for _ in range(6):
            yield filled(text), []


STILL_HARMLESS = (
    "PWD=/srv/app1/x && cd $PWD; pwd: /home/u2; print(pwd=1); cwd=/work2/build-2024",
    "basic research, the bearer of news, authorization: basic access, authorization = required",
    "password=\"${DB_PASSWORD}\" password='<your password>' passphrase: none, passphrase=prompt()",
    '"auth": "oauth2", auth="required1", hf_hub_download(hf_token) whsec_ is a prefix',
    "data:text/plain;base64,aGVsbG8gd29ybGQ= and {b64_64}",
)

HARMLESS = (
    "The token budget is 4096 tokens; max_tokens: 4096, prompt_tokens=1200.",
    "Your password must have at least 12 characters. Forgot your password? Reset it.",
    "password = getpass.getpass()\ntoken = os.environ['API_TOKEN']\nsecret: str | None = None",
    'api_key = "YOUR_API_KEY"\npassword: "changeme"\ntoken=<token>\nsecret=${SECRET}',
    "def authenticate(username: str, password: str, token: str = '') -> Session: ...",
    "key: value\nprimary_key: user_id\nsort_key='created_at'\ncache_key = f'user:{id}:v2'",
    "git log --oneline | head\n{hex40} Fix the parser\n{hex40} Add a test",
    "sha256:{hex64}  dist/app.tar.gz",
    "id: {uuid}\nparent: {uuid}\nrequest-id: {uuid}",
    '"integrity": "sha512-{b64_88}=="',
    "data:image/png;base64,{b64_400}",
    "<svg viewBox='0 0 10 10'><path d='M0 0L10 10'/></svg> https://x.test/a/b?c=d#e",
    "see https://github.com/owner/repo/blob/{hex40}/src/main.py#L10-L20",
    "git@github.com:owner/repo.git ssh://git@host:22/path postgres://localhost:5432/db",
    "mailto:someone@example.test, user@host:/var/log, @decorator def f(): pass",
    "next_page_token: {b62_40}\nnextPageToken={b62_40}\ncontinuation_token: {b62_40}",
    "task-runner-with-a-very-long-kebab-case-name disk-usage-monitor-service-account",
    "sk-learn, sk-toggleable__content sk-estimator sk-container-id-1 sk-text-repr-fallback",
    "ghp_ is the prefix of GitHub tokens and AKIA that of AWS key ids; eyJ starts a JWT.",
    "-----BEGIN CERTIFICATE-----\n{b64_64}\n-----END CERTIFICATE-----",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b62_40} me@laptop",
    "password_hash = bcrypt.hashpw(password.encode(), salt)\nif not password: raise ValueError",
    "tokenizer.pad_token = tokenizer.eos_token; keyboard: qwerty; monkey=patch; turkey: 2kg",
    'const key = event.key; if (key === "ArrowDown") { token.next(); }',
    "Bearer authentication sends the token in a header. Basic training starts Monday.",
    "the secret: never give up. A secret ingredient = butter. secrets: inherit",
    'x-request-id: {hex32}\netag: "{hex32}"\nContent-MD5: {b64_22}==',
    "docker pull registry.test/app@sha256:{hex64}",
    "color: #a1b2c3; version: 1.2.3-beta.4+build.{hex8}; 2026-09-17T12:00:00Z",
    "npm install left-pad@1.3.0 && npm_config_cache=/tmp/npm npm_package_name=demo",
    "PWD=/home/u/project OLDPWD=/home/u KEYMAP=de XKEYSYMDB=/usr/share/X11/XKeysymDB",
    "passwd: password updated successfully\nchpasswd: line 1: missing new password",
    "http://user:password@example.test is what such a URL looks like",
    "access_token: str = Field(...)\nrefresh_token: Optional[str]\nid_token = None",
    "client_secret=config.client_secret, api_key=settings.API_KEY, token=self.token",
    "license_key: see LICENSE-2.0.txt, api_key_id: 4f2a, public_key = ed25519:abc123def456",
    "the password: Passw0rd-like strings are weak; token=: missing; secret = random_bytes(32)",
    '{"tool": "search", "cursor_token": "{hex32}", "sort_key": "created_at_2024_desc_v2"}',
    "key = 'conv2d_transpose_17/kernel:0'; idempotency_key: {uuid}; partition_key='u#123#2024'",
    "def f(password='hunter2'): ...\nassert check('password', 'x')\nPASSWORD_MIN_LENGTH = 12",
    "https://x.test/?session=1&token_type=bearer&expires_in=3600 http://a:b@c",
    "Token(type='NAME', value='password', pos=12) Token: <EOF>",
)


def filled(text: str) -> str:
    values = {
        "{hex8}": lambda: some(HEX, 8),
        "{hex32}": lambda: some(HEX, 32),
        "{hex40}": lambda: some(HEX, 40),
        "{hex64}": lambda: some(HEX, 64),
        "{uuid}": lambda: str(uuid.UUID(int=dice.getrandbits(128))),
        "{b62_40}": lambda: some(BASE62, 40),
        "{b64_22}": lambda: some(BASE62 + "+/", 22),
        "{b64_64}": lambda: some(BASE62 + "+/", 64),
        "{b64_88}": lambda: some(BASE62 + "+/", 86),
        "{b64_400}": lambda: some(BASE62 + "+/", 400),
    }
    for mark, make in values.items():
        while mark in text:
            text = text.replace(mark, make(), 1)
    return text


def harmless() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    for text in HARMLESS:
        for _ in range(6):
            yield filled(text), []


def lines() -> Iterator[str]:
    """The lines of the corpus."""
    for group in (tokens(), headers(), urls(), assignments(), harmless(), spelled()):
        for text, found in group:
            secrets = [{"kind": kind, "value": value} for kind, value in found]
            yield json.dumps({"text": text, "secrets": secrets}, ensure_ascii=False)


if __name__ == "__main__":
    target = Path(__file__).with_name("corpus.jsonl")
    target.write_text("".join(f"{line}\n" for line in lines()), "utf-8")
