"""
The folder attachments/: the bytes of pictures and files, each kept once, by its content (docs/reference/protocol.md, 4.8).

The bytes are durable before anything that names them is written: a line of the journal, a dated file.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from ..protocol.attachments import digest_in_name, holds, joined, separated
from ..protocol.dated_file import Block
from ..protocol.message import Message
from ..protocol.paths import WorkspacePaths
from ..storage.disk import place_below
from ..storage.errors import Busy
from ..storage.files import Files
from ..storage.keeping import keep_by_content

#: No picture has more, since history.json held it as base64.
_MOST_BYTES: Final = 1 << 30


class Attachments:
    """The files in attachments/."""

    def __init__(self, files: Files, paths: WorkspacePaths) -> None:
        self._files = files
        self._paths = paths

    def keep(self, raw: Mapping[str, Any]) -> Mapping[str, Any]:
        """Keep the bytes that a message holds, durably, and return the message with their names in place of them."""
        small, pictures = separated(raw)
        for name, data in pictures.items():
            self._files.make_folder(self._paths.attachments, lasting=True)
            keep_by_content(self._files, self._paths.root / name, data)
        return small

    def keep_of(self, block: Block) -> Block:
        """Keep the bytes of a message that is to be filed, durably, and return its block with their names."""
        fields = self.keep(block.fields)
        return block if fields is block.fields else replace(block, fields=fields)

    def original(self, message: Message) -> Message:
        """Return the message as its writer made it, with its bytes in it; of a file that is gone the name stays."""
        raw = joined(message.raw, self.read)
        return message if raw is message.raw else replace(message, raw=raw)

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a file, None where it is gone or holds other bytes than it did."""
        version = None
        if digest_in_name(name) and (place := place_below(self._paths.root, name)):
            with suppress(OSError, Busy):  # a folder in its place
                version = self._files.read_stable(place, most=_MOST_BYTES)
                if version and self._files.shown(place, version.data) is None:
                    return None
        return version.data if version and holds(name, version.data) else None
