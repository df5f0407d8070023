"""What is recorded of an output: without what differs from run to run, JSON laid out, the end of a long one as a digest."""

import hashlib
import json
import re
from typing import Any

#: Lines of an answer that are shown: of a command that has one of these words, of any other, of a line of a conversation.
MOST_LINES = {"asked": 150, "--help": 60, "status": 50, "tools/list": 60}
MOST_LINES_OF_OTHERS = 24
#: Each file that `files` prints begins with a line of its own; so many lines of it are shown.
FILE = "== "
MOST_LINES_OF_A_FILE = 3
NARROW = 90
MOST_CHARACTERS = 200
WIDTH = 118

#: The time of the clock of the corpus in a ULID; an id from there on was made by the command itself.
_CLOCK = "01M62JQGM0"
_ULID = re.compile(r"\b0[0-9A-HJKMNP-TV-Z]{25}\b")
_VOLATILE = (
    (re.compile(r"recalld \d+\.\d+\.\d+(?:\.\w+)*"), "recalld <version>"),
    (re.compile(r'(Made with: {\\?"recalld\\?": \\?")\d+\.\d+\.\d+[^"\\]*'), r"\1<version>"),
    (re.compile(r'("sha256\\?": \\?")[0-9a-f]{16}\b'), r"\1<digest>"),
    (re.compile(r'("(?:version|serverVersion)": )"\d+\.\d+\.\d+[^"]*"'), r'\1"<version>"'),
    (re.compile(r'("(?:ms|lockedMs|durationMs|bytes|size|inode|mtime_ns)": )\d+(?:\.\d+)?'), r"\1<n>"),
    (re.compile(r'("seconds": )"[\d.]+"'), r"\1<n>"),
    (re.compile(r"[\d.]+( ms|\s?毫秒)"), r"<n>\1"),
    (re.compile(r"\b(ms=)[\d.]+"), r"\1<n>"),
    (re.compile(r"(after|用了) [\d.]+ (s:|秒)"), r"\1 <n> \2"),
    (re.compile(r"^((?:bytes|字节)\s+)\d+$", re.MULTILINE), r"\1<n>"),
    (re.compile(r"<(?:\w+\.)+(\w+) object at 0x[0-9a-f]+>"), r"<\1>"),
    (re.compile(r"(history\.json)\.\d+\.\d{19}\.\d+"), r"\1.<inode>.<time>.<size>"),
    (re.compile(r'("refused": )"[0-9a-f]+"'), r'\1"<mark>"'),  # it has the port of the model server in it
    (re.compile(r'("(?:startedAt|completedAt)": )"[^"]+"'), r'\1"<time>"'),
)


class Normaliser:
    """Replaces what differs from run to run; the ids that were made are numbered in the order in which they are seen."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names
        self._ids: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        for found, name in self._names.items():
            text = text.replace(found, name)
        text = _ULID.sub(self._numbered, text)
        for pattern, name in _VOLATILE:
            text = pattern.sub(name, text)
        return text

    def _numbered(self, found: re.Match[str]) -> str:
        if found[0] < _CLOCK:
            return found[0]
        return self._ids.setdefault(found[0], f"<id {len(self._ids) + 1}>")


def shown(text: str, command: str) -> list[str]:
    """Return the lines of an output of *command*, JSON laid out; what is too long ends with a digest of the rest."""
    if text.startswith(FILE):
        files = text.removeprefix(FILE).removesuffix("\n").split(f"\n{FILE}")
        return [line for one in files for line in _first(f"{FILE}{one}".split("\n"), MOST_LINES_OF_A_FILE, NARROW)]
    most = max(MOST_LINES.get(word, MOST_LINES_OF_OTHERS) for word in command.split())
    lines = [part for line in text.removesuffix("\n").split("\n") for part in _laid_out(line)] if text else []
    return _first(lines, most, MOST_CHARACTERS)


def _first(lines: list[str], most: int, characters: int) -> list[str]:
    shown = [_cut(line, characters) for line in lines[:most]]
    rest = lines[most:]
    return [*shown, f"… {len(rest)} more lines, {_digest(''.join(rest))}"] if rest else shown


def _cut(line: str, characters: int) -> str:
    rest = line[characters:]
    return f"{line[:characters]}… {len(rest)} more characters, {_digest(rest)}" if rest else line


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:8]


def _laid_out(line: str) -> list[str]:
    """Return a long line of JSON as several; any other line as it is."""
    name = re.match(r"(?:[a-zA-Z]+: )?(?=[\[{])", line)
    if len(line) <= WIDTH or not name:
        return [line]
    try:
        # a number that was replaced is no JSON
        value = json.loads(re.sub(r": <n>", ': "<n>"', line[name.end() :]))
    except ValueError:
        return [line]
    first, *rest = _json_lines(value, "")
    return [name[0] + first, *rest]


def _json_lines(value: Any, indent: str) -> list[str]:
    whole = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()  # half an emoji
    if len(indent) + len(whole) <= WIDTH or not isinstance(value, (dict, list)) or not value:
        return [indent + whole]
    lines = []
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        first, *rest = _json_lines(one, indent + " ")
        name = f"{json.dumps(key, ensure_ascii=False)}: " if isinstance(value, dict) else ""
        lines += [f"{indent} {name}{first.strip()}", *rest]
    return [f"{indent}{'{' if isinstance(value, dict) else '['}", *lines, f"{indent}{'}' if isinstance(value, dict) else ']'}"]
