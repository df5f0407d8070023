"""Records are what frozen dataclasses with slots are: values with names."""

from __future__ import annotations

from dataclasses import dataclass, field

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
