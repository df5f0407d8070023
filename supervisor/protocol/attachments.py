"""
Pictures and files in a message: their bytes are kept once in attachments/, and the message has their names (protocol.md, 4.8).

Programs put them into a message as base64: as a data URL (`image_url`, `file_data`), or as a string next to what says its type
(`input_audio`, `source`, `inline_data`, `images`). `separated` puts the name of the file in place of the base64, and `joined`
puts the base64 back as it was. Words are never touched, so that a message stays the same message.
"""

import binascii
import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from ..text.lazy_re import lazy_re
from .message import WORD_FIELDS, is_thought

#: Returns what a string that is no words is replaced by: from it, the name of its field, and the object that holds it.
Change: TypeAlias = "Callable[[str, str, Mapping[str, Any]], str]"

FOLDER: Final = "attachments"
#: Hex digits of the sha256 of the bytes in a file's name.
_DIGEST: Final = 32
#: The name of a file in place of its base64, behind the head of its data URL; base64 itself has no dot.
_NAMED: Final = lazy_re(r"(?P<head>data:[^,]{0,200},)?(?P<name>attachments/[0-9a-f]{32}\.[a-z0-9]{1,5})(?P<url>#url)?")
_DATA_URL: Final = lazy_re(r"data:(?P<type>[^;,]{0,100})[^,]{0,100};base64,", re.IGNORECASE)
#: Fields that hold bare base64, and those that have its type.
_BYTES: Final = frozenset({"data", "file_data", "base64", "b64_json", "bytes", "image", "images"})
_TYPE: Final = ("media_type", "mime_type", "mediaType", "mimeType")
_TITLE: Final = ("filename", "title")
#: The alphabet of base64 for URLs, which some programs use, and back.
_FROM_URL: Final = str.maketrans("-_", "+/")
_TO_URL: Final = str.maketrans("+/", "-_")
#: A string of base64 that is longer is taken for a file though nothing says so.
_LONG: Final = 1_000

#: How files begin: what is in them counts, not what a message says of it.
_BEGINNINGS: Final = tuple(
    (lazy_re(pattern, re.DOTALL), extension)
    for pattern, extension in (
        (rb"\x89PNG\r\n", "png"),
        (rb"\xff\xd8\xff", "jpg"),
        (rb"GIF8[79]a", "gif"),
        (rb"RIFF....WEBP", "webp"),
        (rb"RIFF....WAVE", "wav"),
        (rb"....ftyp(?:hei|mif)", "heic"),
        (rb"....ftypM4A", "m4a"),
        (rb"....ftyp", "mp4"),
        (rb"%PDF-", "pdf"),
        (rb"OggS", "ogg"),
        (rb"ID3", "mp3"),
        (rb"fLaC", "flac"),
    )
)
#: Extensions, each with the types that mean it.
_TYPES: Final = """
    png image/png          jpg image/jpeg,image/jpg    gif image/gif          webp image/webp      heic image/heic
    svg image/svg+xml      bmp image/bmp               tiff image/tiff        avif image/avif
    wav audio/wav,audio/x-wav    mp3 audio/mpeg,audio/mp3    ogg audio/ogg    flac audio/flac      aac audio/aac
    opus audio/opus        m4a audio/mp4,audio/x-m4a   mp4 video/mp4          mpeg video/mpeg      mov video/quicktime
    webm video/webm,audio/webm   pdf application/pdf   json application/json  zip application/zip  xml application/xml
    txt text/plain         md text/markdown            csv text/csv           html text/html
    docx application/vnd.openxmlformats-officedocument.wordprocessingml.document
    xlsx application/vnd.openxmlformats-officedocument.spreadsheetml.sheet
    pptx application/vnd.openxmlformats-officedocument.presentationml.presentation
"""
_EXTENSIONS: Final = {
    media_type: extension
    for extension, types in zip(_TYPES.split()[::2], _TYPES.split()[1::2], strict=True)
    for media_type in types.split(",")
}
_KNOWN: Final = frozenset(_EXTENSIONS.values())
#: What a file is to a person: the kind of the first type that means its extension.
_KINDS: Final = {extension: media_type.partition("/")[0] for media_type, extension in reversed(_EXTENSIONS.items())}


def separated(raw: Mapping[str, Any]) -> tuple[Mapping[str, Any], dict[str, bytes]]:
    """
    Return the message with the name of a file in place of each base64, and the bytes by name; the same object without any.

    >>> separated({"content": [{"image_url": {"url": "data:image/png;base64,iVBORw0K"}}]})[0]["content"][0]["image_url"]
    {'url': 'data:image/png;base64,attachments/823ceb99fcef5252333ede1b2202341c.png'}
    """
    pictures: dict[str, bytes] = {}

    def name(text: str, key: str, holder: Mapping[str, Any]) -> str:
        short, path, data = _separated(text, key, holder)
        if path:
            pictures[path] = data
        return short

    small: Mapping[str, Any] = changed(raw, name)
    return small, pictures


def joined(raw: Mapping[str, Any], read: Callable[[str], bytes | None]) -> Mapping[str, Any]:
    """Return the message as it was before `separated`; *read* returns the bytes of a file, None where it is gone."""

    def bring_back(text: str, key: str, _: Mapping[str, Any]) -> str:
        names = named_in(text, key)
        data = read(names["name"]) if names else None
        if names is None or data is None:
            return text
        encoded = binascii.b2a_base64(data, newline=False).decode()
        return f"{names['head'] or ''}{encoded.translate(_TO_URL) if names['url'] else encoded}"

    original: Mapping[str, Any] = changed(raw, bring_back)
    return original


def attachments_of(raw: Mapping[str, Any]) -> dict[str, str]:
    """Return the files that a message names, each with its title, "" for none."""
    names: dict[str, str] = {}

    def note(text: str, key: str, holder: Mapping[str, Any]) -> str:
        if match := named_in(text, key):
            titles = (holder.get(field) for field in _TITLE)
            names.setdefault(match["name"], next((title for title in titles if isinstance(title, str)), ""))
        return text

    changed(raw, note)
    return names


def kind_of(name: str) -> str:
    """
    Return what a file is to a person.

    >>> kind_of("attachments/823ceb99fcef5252333ede1b2202341c.png"), kind_of("x.pdf")
    ('image', 'file')
    """
    kind = _KINDS.get(name.rpartition(".")[2], "")
    return kind if kind in ("image", "audio", "video") else "file"


def digest_in_name(name: str) -> str:
    """Return the hex digits of the bytes' sha256 in the path of an attachment; "" where it is none."""
    match = _NAMED.fullmatch(name)
    return match["name"].rpartition("/")[2].partition(".")[0] if match and match["name"] == name else ""


def holds(name: str, data: bytes) -> bool:
    """Return whether these are the bytes that the file was named by."""
    return hashlib.sha256(data).hexdigest().startswith(digest_in_name(name))


def named_in(text: str, key: str) -> re.Match[str] | None:
    """Return the name of the file that has replaced base64 in field *key*; None where it is somebody's own text."""
    match = _NAMED.fullmatch(text) if len(text) < 300 else None
    return match if match and (match["head"] or key in _BYTES) else None


def changed(value: Any, change: Change, key: str = "", holder: Mapping[str, Any] | None = None) -> Any:
    """Return *value* with each string changed that is no words and no thought; the same object where nothing changes."""
    match value:
        case str():
            return value if key in WORD_FIELDS else change(value, key, holder or {})
        case list():
            items = [changed(item, change, key, holder) for item in value]
            return value if all(new is old for new, old in zip(items, value, strict=True)) else items
        case dict() if not is_thought(value):
            fields = {name: changed(item, change, name, value) for name, item in value.items()}
            return value if all(fields[name] is value[name] for name in value) else fields
    return value


def _separated(text: str, key: str, holder: Mapping[str, Any]) -> tuple[str, str, bytes]:
    """Return what replaces a string, the path of its file and the bytes; the string, "" and no bytes if it has no file."""
    head = _DATA_URL.match(text)
    if not head and (key not in _BYTES or holder.get("type") == "text"):
        return text, "", b""
    start = head.end() if head else 0
    data, mark = _decoded(text[start:])
    extension = _extension(data, head["type"] if head else "", holder)
    if not data or not (extension or head or len(text) > _LONG):
        return text, "", b""
    path = f"{FOLDER}/{hashlib.sha256(data).hexdigest()[:_DIGEST]}.{extension or 'bin'}"
    return f"{text[:start]}{path}{mark}", path, data


def _decoded(text: str) -> tuple[bytes, str]:
    """Return the bytes of base64 that can be written again as it is, and the mark of its alphabet; no bytes for other text."""
    is_url = "-" in text or "_" in text
    if is_url and ("+" in text or "/" in text):
        return b"", ""
    standard = text.translate(_FROM_URL) if is_url else text
    try:
        data = binascii.a2b_base64(standard, strict_mode=True)
    except ValueError:
        return b"", ""
    end = data[-(len(data) % 3 or 3) :]  # its unused bits are all that strict base64 leaves open
    is_same = binascii.b2a_base64(end, newline=False) == standard[-4:].encode()
    return (data, "#url" if is_url else "") if is_same else (b"", "")


def _extension(data: bytes, media_type: str, holder: Mapping[str, Any]) -> str:
    """Return the extension by the bytes, the type, the format or the title; "" where nothing says that this is a file."""
    for beginning, extension in _BEGINNINGS:
        if beginning.match(data):
            return extension
    types = [media_type, *(str(holder[field]).partition(";")[0] for field in _TYPE if field in holder)]
    ends = [str(holder.get("format", "")), *(str(holder.get(field, "")).rpartition(".")[2] for field in _TITLE)]
    known = [_EXTENSIONS.get(kind.strip().lower(), "") for kind in types] + [end.lower() for end in ends]
    return next((name for name in known if name in _KNOWN), "bin" if any("/" in kind for kind in types) else "")
