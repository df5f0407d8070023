"""
Which memories the readers of a chat may see: the one rule for injection, search, exact lines and every tool (recall.md).

The user alone sees everything. A group or a channel does not see the user's own memory: it sees its own messages and what is
marked as shared, or what `[recall] in_groups` allows. What it may not see is as if it did not exist.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from ..index.hit import SHARED, Passage, reader_of
from ..protocol.inbox import DIRECT, Chat
from ..text.lazy_re import lazy_re

_NAMED: Final = lazy_re(r"(\d{4}-\d\d-\d\d)-[^/]+\.md\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """The readers of *chat*; *in_groups* is `[recall] in_groups`."""

    chat: Chat = DIRECT
    in_groups: Literal["own", "all", "none"] = "own"

    @property
    def sees_all(self) -> bool:
        """Whether nothing is hidden from them."""
        return self.chat.is_direct or self.in_groups == "all"

    @property
    def readers(self) -> tuple[str, ...]:
        """The marks of the passages of which they may see something (`Passage.readers`), if they may not see all of memory."""
        if self.in_groups == "none":
            return ()
        return (SHARED, reader_of(self.chat.session)) if self.chat.session else (SHARED,)

    def may_see(self, passage: Passage) -> bool:
        """Return whether they may be shown the passage; only the user is ever shown one with a secret."""
        if self.chat.is_direct:
            return True
        is_own = passage.chat != "direct" and bool(passage.session) and passage.session == self.chat.session
        is_allowed = self.sees_all or (self.in_groups == "own" and (passage.shared or is_own))
        return is_allowed and not self.may_not_read(passage.text, is_own=is_own)

    def seen_of(self, passage: Passage) -> Sequence[Passage]:
        """Return the parts of the passage that may be shown to them: all of it, the lines that are marked, or nothing."""
        if self.may_see(passage):
            return (passage,)
        from ..index.chunking import marked_lines  # here: a chat with the user alone never needs it

        lines = marked_lines(passage) if self.in_groups == "own" else ()
        return tuple(line for line in lines if not self.may_not_read(line.text))

    def may_not_read(self, text: str, *, is_own: bool = False) -> bool:
        """
        True if others than the user read the answer, and the text has a key or the label of a secret.

        In what was said before their eyes (*is_own*) a label alone tells them nothing new: there a value has to follow it.
        """
        from ..text.redact import names_secret  # here: a chat with the user alone never needs it

        return not self.chat.is_direct and names_secret(text, with_value=is_own)


#: The user alone.
ALONE: Final = Audience()


def nameless(path: str) -> str:
    """
    Return the path of a dated file without the words in its name, which may come from another chat.

    >>> nameless("memory/2026-01-28-deploy.md"), nameless("memory/summary/2026-01-15.md")
    ('memory/2026-01-28-….md', 'memory/summary/2026-01-15.md')
    """
    return _NAMED.sub(r"\1-….md", path)
