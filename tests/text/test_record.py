"""Records are what frozen dataclasses with slots are: values with names."""

from __future__ import annotations

import copy
from dataclasses import asdict, dataclass, field, fields, replace

from recalld.supervisor.text.record import record


@record
class Note:
    words: str
    tags: tuple[str, ...] = ()
    digest: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Plain:
    words: str
    tags: tuple[str, ...] = ()
    digest: str = field(default="", repr=False, compare=False)


@record
class Nothing:
    pass


@record
class Named:
    name: str

    def __repr__(self) -> str:
        return f"<{self.name}>"


def test_record_is_equal_to_another_with_the_same_values():
    one, same = Note("花生", ("过敏",), "a"), Note("花生", ("过敏",), "b")

    assert one == same
    assert hash(one) == hash(same)
    assert one != Note("花生")
    assert one != Plain("花生", ("过敏",))
    assert Nothing() == Nothing()
    assert len({Nothing(), Nothing(), Named("小林"), Named("小林")}) == 2


def test_record_is_shown_as_a_dataclass_is():
    assert repr(Note("花生", ("过敏",), "a")) == repr(Plain("花生", ("过敏",), "a")).replace("Plain", "Note")
    assert repr(Nothing()) == "Nothing()"
    assert repr(Named("小林")) == "<小林>"


def test_record_has_fields_slots_and_a_copy_with_other_values():
    note = Note("peanuts")

    assert [one.name for one in fields(note)] == ["words", "tags", "digest"]
    assert asdict(replace(note, tags=("allergy",))) == {"words": "peanuts", "tags": ("allergy",), "digest": ""}
    assert not hasattr(note, "__dict__")
    assert copy.copy(note) == note
