"""Media out of documents into files, and back.

Spec: export 12, decision E2.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from agentsession.atif import IMAGE_TYPES, audio_type
from agentsession.atif.values import rebuilt
from agentsession.export.atomic import write_whole
from agentsession.export.errors import CannotExport

_EXTENSIONS: Final = {
    "image/jpeg": ".jpg",
    "image/png": ".png",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "audio/wav": ".wav",
    "audio/mpeg": ".mp3",
    "audio/mp4": ".m4a",
    "audio/aac": ".aac",
    "audio/ogg": ".ogg",
    "audio/flac": ".flac",
    "audio/webm": ".webm",
    "audio/aiff": ".aiff",
}
_TYPES: Final = {extension: media_type for media_type, extension in _EXTENSIONS.items()}
_FOLDERS: Final = {"image": "images", "audio": "audio"}
_SPILLED: Final = re.compile(r"(?:images|audio)/[0-9a-f]{64}(\.[a-z0-9]+)")
_UNSAFE: Final = re.compile(r"[^a-z0-9.]+")


def is_data_url(where: str) -> bool:
    """Return whether a place is a data URL."""
    return where[:5].lower() == "data:"


def media_of(url: str) -> tuple[str, bytes]:
    """Return the media type of a data URL as written, and its bytes.

    Spec: export 12.

    Raises:
        CannotExport: when it has no comma, or its base64 is damaged.
    """
    head, comma, payload = url[5:].partition(",")
    if not comma:
        raise CannotExport("a data URL has no comma, so it holds nothing")
    media_type, *parameters = head.split(";")
    if "base64" not in (parameter.strip().lower() for parameter in parameters):
        return media_type, payload.encode("utf-8", "surrogatepass")
    compact = re.sub(r"\s+", "", payload).rstrip("=")
    try:
        data = base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True)
    except ValueError as error:
        raise CannotExport(f"the base64 of a data URL is damaged: {error}") from error
    return media_type, data


def normal_type(media_type: str, kind: str) -> str:
    """Return a media type as ATIF spells it: lower case, aliases resolved."""
    if kind == "audio":
        return audio_type(media_type)
    plain = media_type.strip().lower()
    return "image/jpeg" if plain == "image/jpg" else plain


def extension_of(media_type: str) -> str:
    """Return the file extension of a media type.

    Spec: export 12.
    """
    known = _EXTENSIONS.get(media_type)
    if known is not None:
        return known
    subtype = _UNSAFE.sub("-", media_type.partition("/")[2].lower()).strip(".-")[:40]
    return f".{subtype}" if subtype else ".bin"


def data_url(media_type: str, data: bytes) -> str:
    """Return bytes as a data URL in its plainest form."""
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


class Spill:
    """Writes the media of documents beside them, each content once.

    Args:
        directory: where the documents go.

    Attributes:
        unreadable: parts whose data URL could not be decoded and became text.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.unreadable = 0
        self._files: set[str] = set()
        self._places: dict[bytes, tuple[str, bool]] = {}

    def begin(self) -> None:
        """Begin another document: what it points to does not depend on those before it."""
        self._places.clear()

    @property
    def files(self) -> list[Path]:
        """The files of the document, each once."""
        return [
            self.directory / path for path in dict.fromkeys(p for p, _ in self._places.values())
        ]

    def collect(self, step: Mapping[str, Any]) -> None:
        """Write the media of a step's parts, so that copies elsewhere can point to them."""
        unreadable = self.unreadable
        self._step(step)
        self.unreadable = unreadable

    def step(self, step: dict[str, Any]) -> dict[str, Any]:
        """Return a step whose parts, and raw items that held the same media, point to files."""
        changed = self._step(step)
        return self.rest(changed) if self._places else changed

    def rest(self, value: Any) -> Any:
        """Return a JSON value whose raw media parts point to the files that were written.

        Only where the file gives the very same URL back, and only where `restored` looks.
        """
        return _media_changed(value, self._pointed) if self._places else value

    def _pointed(self, found: str) -> str:
        if not is_data_url(found):
            return found
        path, exact = self._places.get(_key(found), ("", False))
        return path if exact else found

    def _step(self, step: Mapping[str, Any]) -> dict[str, Any]:
        changed = dict(step)
        if isinstance(step["message"], list):
            changed["message"] = [self._part(part) for part in step["message"]]
        observation = step.get("observation")
        if observation:
            results = [self._result(result) for result in observation["results"]]
            changed["observation"] = {**observation, "results": results}
        return changed

    def _result(self, result: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(result.get("content"), list):
            return result
        return {**result, "content": [self._part(part) for part in result["content"]]}

    def _part(self, part: dict[str, Any]) -> dict[str, Any]:
        source = part.get("source")
        if not source or not is_data_url(source.get("path", "")):
            return part
        kind = part["type"]
        try:
            path, media_type = self._spilled(source["path"], kind)
        except CannotExport:
            self.unreadable += 1
            return {"type": "text", "text": f"[{kind}: unreadable data URL]"}
        return {**part, "source": {**source, "media_type": media_type, "path": path}}

    def _spilled(self, url: str, kind: str) -> tuple[str, str]:
        written, data = media_of(url)
        media_type = normal_type(written, kind)
        if kind == "image" and media_type not in IMAGE_TYPES:
            raise CannotExport(f"{media_type} is no image type of ATIF")
        name = hashlib.sha256(data).hexdigest() + extension_of(media_type)
        path = f"{_FOLDERS.get(kind, 'images')}/{name}"
        if path not in self._files:
            self._write(self.directory / path, data)
            self._files.add(path)
        self._places[_key(url)] = (path, data_url(media_type, data) == url)
        return path, media_type

    def _write(self, target: Path, data: bytes) -> None:
        if _holds(target, data):
            return
        target.parent.mkdir(exist_ok=True)
        with write_whole(target) as file:
            file.write(data)


def _holds(target: Path, data: bytes) -> bool:
    """Whether a file is there with this content; its name alone proves nothing."""
    try:
        return target.stat().st_size == len(data) and target.read_bytes() == data
    except OSError:
        return False


def _key(url: str) -> bytes:
    return hashlib.sha256(url.encode("utf-8", "surrogatepass")).digest()


_PLACES: Final = ("image_url", "file_id")


def _media_changed(value: Any, change: Callable[[str], str]) -> Any:
    """The value with the places of its raw media parts changed, and nothing else."""

    def changed(found: Mapping[str, Any]) -> dict[str, Any]:
        fresh = dict(found)
        if fresh.get("type") == "input_image":
            for name in _PLACES:
                if isinstance(fresh.get(name), str):
                    fresh[name] = change(fresh[name])
        return fresh

    return rebuilt(value, changed)


def restored(value: Any, directory: Path) -> Any:
    """Return a JSON value whose media parts have the data URLs they had before `Spill`.

    Text that looks like the path of such a file stays text.

    Spec: decision E2.
    """

    def change(found: str) -> str:
        spilled = _SPILLED.fullmatch(found)
        media_type = _TYPES.get(spilled[1]) if spilled else None
        if media_type is None:
            return found
        try:
            return data_url(media_type, (directory / found).read_bytes())
        except OSError:
            return found

    return _media_changed(value, change)
