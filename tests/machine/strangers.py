"""
Strangers in any order: another file under the name of a picture, and a member of a group who asks through every interface.

A picture has its bytes, or `fsck` tells that they are lost; and nothing that a group is told has a byte of a private message.
The workspace lies on a real disk, since pipes and links do on no other.
"""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from recalld import Memory
from tests.archive.test_attachments import WRONG, photo
from tests.contract.test_asked_out import INTERFACES, OURS, WHERE, told
from tests.protocol.test_attachments import JPEG, PDF, PNG, path
from tests.world import WITH_MODEL, World, at, message

#: Stands around each word of what is private, and in no question.
PRIVATE = "扫描件K7Q"
_PICTURES = {path(PNG, "png"): PNG, path(JPEG, "jpg"): JPEG, path(PDF, "pdf"): PDF}
#: Few words, so that what is private and what is not share them; the questions of test_asked_out have them, too.
_WORDS = st.lists(st.sampled_from(("爬山", "木炭", "cabin", "青霉素", "methotrexate")), min_size=1, max_size=3)


def _private(words: list[str]) -> str:
    return f" {PRIVATE} ".join(("", *words, "")).strip()


class Strangers(RuleBasedStateMachine):
    """The rules."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.world = World(Path(self.folder.name) / "w", at("2026-01-28T09:00"), f"{WITH_MODEL}[recall]\ntimeout_ms = 60000\n")
        self.world.put("recalld.toml", self.world.toml)
        self.said = 0
        self.sent: set[str] = set()

    def say(self, text: str, **where: object) -> None:
        self.said += 1
        self.world.append(message(f"m{self.said}", self.world.clock().isoformat(), text, **where))

    # ── people ───────────────────────────────────────────────────────────────

    @rule(words=_WORDS, where=WHERE)
    def a_person_says_what_is_private(self, words: list[str], where: dict[str, str]) -> None:
        self.say(_private(words), **where)

    @rule(words=_WORDS, is_marked=st.booleans())
    def a_group_hears(self, words: list[str], is_marked: bool) -> None:
        """What is said in it, or marked for it in private talk."""
        self.say(" ".join((*words, "#shared" if is_marked else "")), **{} if is_marked else OURS)

    @rule(words=_WORDS, name=st.sampled_from(("memory.md", "memory/药.md")))
    def a_person_writes_beside_a_line_for_groups(self, words: list[str], name: str) -> None:
        before = (self.world.read(name) or b"").decode()
        self.world.put(name, f"{before}{_private(words)}\n- {' '.join(words)} #shared\n{_private(words)}\n\n")

    @rule(name=st.sampled_from(sorted(_PICTURES)))
    def a_person_sends_a_picture(self, name: str) -> None:
        self.said += 1
        when = self.world.clock().isoformat()
        self.world.append(photo(f"m{self.said}", when, _private(["照片"]), _PICTURES[name]))
        self.sent.add(name)
        assert self.world.read(name) == _PICTURES[name], f"LOST: {name}"

    # ── strangers ────────────────────────────────────────────────────────────

    @precondition(lambda self: self.sent)
    @rule(kind=st.sampled_from(sorted(WRONG)), which=st.integers(0, len(_PICTURES) - 1))
    def a_stranger_takes_the_name_of_a_picture(self, kind: str, which: int) -> None:
        place = self.world.root / sorted(self.sent)[which % len(self.sent)]
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)
        WRONG[kind](place)

    @rule()
    def a_program_begins_anew(self) -> None:
        """From here on only attachments/ has the bytes."""
        self.world.write([])

    @rule(words=_WORDS)
    def a_member_asks(self, words: list[str]) -> None:
        told_it = told(Memory(self.world.ws, clock=self.world.clock), " ".join(words))
        wrong = [one for one in (PRIVATE, str(self.world.root), *_PICTURES) if one in told_it]
        assert not wrong, f"TOLD: {wrong}"

    @rule(interface=st.sampled_from(sorted(INTERFACES)))
    def a_member_asks_all_there_is(self, interface: str) -> None:
        wrong = [one for one in INTERFACES[interface](self.world) if PRIVATE in one or str(self.world.root) in one]
        assert not wrong, f"TOLD: {wrong[0]}"

    # ── recalld ──────────────────────────────────────────────────────────────

    @rule(days=st.sampled_from((0, 1, 40)))
    def time_passes(self, days: int) -> None:
        self.world.clock.advance(timedelta(days=days))
        self.world.settle()

    @rule()
    def the_night_comes(self) -> None:
        self.world.report()

    # ── what must hold in the end ────────────────────────────────────────────

    def teardown(self) -> None:
        try:
            self.world.settle()
            damage = "\n".join(map(str, self.world.fsck().damage))
            for name in self.sent:
                is_whole = self.world.ws.attachments.read(name) == _PICTURES[name]
                assert is_whole or name in damage, f"LOST, and not told: {name}"
        finally:
            self.folder.cleanup()
