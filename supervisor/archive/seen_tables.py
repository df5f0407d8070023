"""
The tables of the seen journal, in some 80 bytes a message: ids, where each message is written, ids by fingerprint.

Mappings of Python's take four times as much, and an import may bring a million messages. Here the texts of ids are one string
of bytes, digests are numbers of 64 bits in an array, and one array of row numbers finds them. Rows are only added, and the
number of a row is added last: what iterates over the numbers meets each row once and whole while another thread adds one.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from recalld.supervisor.protocol.message import Key

#: Hex digits of a digest, and the numbers that it may be.
_DIGITS: Final = 16
_MOST: Final = (1 << 64) - 1
#: An odd number that spreads the numbers of rows over 64 bits (2^64 divided by the golden ratio).
_SPREAD: Final = 0x9E3779B97F4A7C15
#: How full the slots of an index may be: two thirds.
_FULL: Final = 2, 3
#: Answers that are kept at most while they are kept: a round asks for each message of history.json some ten times.
_MOST_KEPT: Final = 5_000


class _Index:
    """Finds rows by a number of 64 bits; several may have one number, the first of them is found first."""

    def __init__(self) -> None:
        self.numbers = array("Q")
        self._slots = array("I", bytes(4 * 16))  # the number of a row plus one; 0 where none is

    def find(self, number: int, fits: Callable[[int], bool] | None = None) -> int:
        """Return the first row with this number that *fits*; for none a negative number, which `add` takes."""
        slots, numbers = self._slots, self.numbers
        most = len(slots) - 1
        place = (number ^ number >> 32) & most
        while row := slots[place]:
            if numbers[row - 1] == number and (fits is None or fits(row - 1)):
                return row - 1
            place = (place + 1) & most
        return ~place

    def add(self, number: int, found: int) -> int:
        """Add a row that was just not *found*, and return which; what is read by the row is added before."""
        row = len(self.numbers)
        self.numbers.append(number)
        if row * _FULL[1] < len(self._slots) * _FULL[0]:
            self._slots[~found] = row + 1
        else:
            self._grow()
        return row

    def _grow(self) -> None:
        slots = array("I", bytes(8 * len(self._slots)))
        most = len(slots) - 1
        for row, number in enumerate(self.numbers, 1):
            place = (number ^ number >> 32) & most
            while slots[place]:
                place = (place + 1) & most
            slots[place] = row
        self._slots = slots


class Ids(Collection[str]):
    """Ids, each once, in the order in which they were added; the number of one stays the same."""

    def __init__(self) -> None:
        self._index = _Index()
        self._texts = bytearray()
        self._ends = array("Q")

    def add(self, identity: str) -> int:
        """Add the id unless it is there, and return its number."""
        if (row := self.row(identity)) >= 0:
            return row
        self._texts += identity.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._texts))
        return self._index.add(hash(identity) & _MOST, row)

    def row(self, identity: str) -> int:
        """Return the number of the id, a negative one if it is not there."""
        number = hash(identity) & _MOST
        row = self._index.find(number)
        is_it = row < 0 or self.text(row) == identity
        return row if is_it else self._index.find(number, lambda row: self.text(row) == identity)

    def text(self, row: int) -> str:
        """Return the id with this number."""
        return self._texts[self._ends[row - 1] if row else 0 : self._ends[row]].decode("utf-8", "surrogatepass")

    def __contains__(self, identity: object) -> bool:
        return isinstance(identity, str) and self.row(identity) >= 0

    def __iter__(self) -> Iterator[str]:
        return map(self.text, range(len(self)))

    def __len__(self) -> int:
        return len(self._ends)


class Written(Mapping["Key", str]):
    """The dated file of each message that is written, by id and digest of its words; *ids* are shared with other tables."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._index = _Index()
        self._owners = array("I")
        self._files = array("I")
        self._names: list[str] = []
        self._numbers: dict[str, int] = {}
        self._last = array("I")  # by id, the row of the words that were written last, plus one
        self._kept: dict[Key, str | None] | None = None

    def keep_answers(self, *, kept: bool) -> None:
        """Keep the answers of `file_of` from now on until something changes, or keep none."""
        self._kept = (self._kept or {}) if kept else None

    def file_of(self, key: Key) -> str | None:
        """Return the file that holds the message, None for none."""
        answers = self._kept
        if answers is None:
            return self._looked_up(key)
        try:
            return answers[key]
        except KeyError:
            found = self._looked_up(key)
            if len(answers) < _MOST_KEPT:
                answers[key] = found
            return found

    def _looked_up(self, key: Key) -> str | None:
        row = self._row(key)
        return self._names[self._files[row] - 1] if row >= 0 and self._files[row] else None

    def put(self, owner: int, digest: str, file: str, *, moved: bool = False) -> None:
        """
        Note that the file holds the words of the id with the number *owner*; ValueError for a digest that is none.

        Of two files the first is kept, unless the message has *moved*.
        """
        number = self._numbers.setdefault(file, len(self._numbers) + 1)
        if number > len(self._names):
            self._names.append(file)
        mixed = _mixed(_number_in(digest), owner)
        row = self._find(owner, mixed)
        if row < 0:
            self._owners.append(owner)
            self._files.append(number)
            row = self._index.add(mixed, row)
        elif moved or not self._files[row]:
            self._files[row] = number
        if len(self._last) <= owner:
            self._last.extend([0] * (owner + 1 - len(self._last)))
        self._last[owner] = row + 1
        self._forget_answers()

    def lose(self, key: Key) -> None:
        """Note that no file holds the message; that its id was written once is still known."""
        if (row := self._row(key)) >= 0:
            self._files[row] = 0
            self._forget_answers()

    def words(self, identity: str) -> str:
        """Return the digest of the words that were written last under this id, "" if none were."""
        owner = self._ids.row(identity)
        row = self._last[owner] if 0 <= owner < len(self._last) else 0
        return self.key(row - 1)[1] if row else ""

    def files_of(self, identities: Iterable[str]) -> list[str]:
        """Return the files that hold messages with these ids, each once."""
        owners = {*map(self._ids.row, identities)} - {-1}
        rows = (row for row, owner in zip(self._rows(), self._owners, strict=False) if owner in owners) if owners else ()
        return [*dict.fromkeys(self._names[number - 1] for row in rows if (number := self._files[row]))]

    def keys_in(self, files: Iterable[str]) -> Iterator[tuple[str, Key]]:
        """Yield each message that one of the files holds, after the file."""
        names = {self._numbers[file]: file for file in files if file in self._numbers}
        rows = zip(self._rows(), self._files, strict=False) if names else ()
        return ((names[number], self.key(row)) for row, number in rows if number in names)

    def rows_by_file(self) -> dict[str, array[int]]:
        """Return the rows of each file, for `key` and `owner`."""
        found: dict[str, array[int]] = {}
        for row, number in zip(self._rows(), self._files, strict=False):
            if number:
                found.setdefault(self._names[number - 1], array("I")).append(row)
        return found

    def key(self, row: int) -> Key:
        """Return id and digest of a row."""
        owner = self._owners[row]
        return self._ids.text(owner), f"{_mixed(self._index.numbers[row], owner):016x}"

    def owner(self, row: int) -> int:
        """Return the number of the id of a row."""
        return self._owners[row]

    def _forget_answers(self) -> None:
        if self._kept is not None:  # another one, also of an empty one: a thread may be about to put an answer into it
            self._kept = {}

    def _rows(self) -> range:
        return range(len(self._index.numbers))

    def _row(self, key: Key) -> int:
        owner = self._ids.row(key[0])
        digest = _number(key[1]) if owner >= 0 else -1
        return self._find(owner, _mixed(digest, owner)) if digest >= 0 else -1

    def _find(self, owner: int, mixed: int) -> int:
        row = self._index.find(mixed)
        is_it = row < 0 or self._owners[row] == owner
        return row if is_it else self._index.find(mixed, lambda row: self._owners[row] == owner)

    def __getitem__(self, key: Key) -> str:
        found = self.file_of(key)
        if found is None:
            raise KeyError(key)
        return found

    def __iter__(self) -> Iterator[Key]:
        return (self.key(row) for row in self._rows() if self._files[row])

    def __len__(self) -> int:
        return len(self._files) - self._files.count(0)


class Fingerprints(Mapping[str, Collection[str]]):
    """The ids of the messages that have a fingerprint, in the order in which they were added; *ids* are shared."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._index = _Index()
        self._owners = array("I")  # by row, the number of the first id
        self._more: dict[int, dict[str, None]] = {}  # by row, all ids where there are several: few messages are equal

    def add(self, fingerprint: str, owner: int) -> None:
        """Note that the id with the number *owner* has the fingerprint; ValueError for one that is none."""
        number = _number_in(fingerprint)
        row = self._index.find(number)
        if row < 0:
            self._owners.append(owner)
            self._index.add(number, row)
        elif self._owners[row] != owner:
            self._more.setdefault(row, {self._ids.text(self._owners[row]): None})[self._ids.text(owner)] = None

    def by_id(self) -> Callable[[int], list[str]]:
        """Return what shows the fingerprints of an id by its number, in the order of their rows."""
        firsts, behind, rows = array("I", bytes(4 * len(self._ids))), array("I"), array("I")
        for row in range(len(self._owners) - 1, -1, -1):
            known = self._more.get(row)
            for owner in map(self._ids.row, known) if known else (self._owners[row],):
                behind.append(firsts[owner])
                rows.append(row)
                firsts[owner] = len(rows)

        def shown(owner: int) -> list[str]:
            found, place = [], firsts[owner]
            while place:
                found.append(f"{self._index.numbers[rows[place - 1]]:016x}")
                place = behind[place - 1]
            return found

        return shown

    def __getitem__(self, fingerprint: str) -> Collection[str]:
        number = _number(fingerprint)
        row = self._index.find(number) if number >= 0 else -1
        if row < 0:
            raise KeyError(fingerprint)
        return tuple(self._more.get(row, ())) or (self._ids.text(self._owners[row]),)

    def __iter__(self) -> Iterator[str]:
        return (f"{number:016x}" for number in self._index.numbers)

    def __len__(self) -> int:
        return len(self._owners)


def _mixed(digest: int, owner: int) -> int:
    """Return the digest for a number that is also another one's with another owner; done again it is the digest."""
    return digest ^ (owner * _SPREAD & _MOST)


def _number_in(digest: str) -> int:
    """Return the number that a digest is; ValueError for a text that is none, which no message has."""
    number = int(digest, 16)
    if number < 0 or len(digest) != _DIGITS:
        raise ValueError(digest)
    return number


def _number(digest: str) -> int:
    """Return the same, but -1 for a text that is none."""
    try:
        return _number_in(digest)
    except ValueError:
        return -1
