"""
What a crash may leave of a disk, by three models of what a machine keeps.

* ``kill``: the process dies, the machine lives: all that was done stands, a write may have got half way. Nothing becomes
  durable by it: what the dead process owed a sync, the power may still take from the next one.
* ``ordered``: the power goes on a journaling file system (ext4, data=ordered): of each folder's names that no sync made
  durable a prefix is kept, in their order; of unsynced bytes nothing, half or all.
* ``weak``: the power goes on a disk that promises only what it was asked for: any subset of those names is kept, and
  unsynced bytes may also have become zeros.

In all of them a rename is atomic: the old name never ends without the new one. Combinations are counted out when they are
few, else drawn by the seed, with nothing-kept and all-kept always among them.
"""

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from tests.crash.ledger import Snapshot
from tests.crash.state import Change, Inode, State, applied, settle

Mode = Literal["kill", "ordered", "weak"]
MODES: tuple[Mode, ...] = ("kill", "ordered", "weak")


class Outcome(NamedTuple):
    """A disk that a crash left, and in a person's words what was lost on the way."""

    state: State
    story: str


def outcomes(snapshot: Snapshot, mode: Mode, limit: int = 24, seed: int = 0) -> Iterator[Outcome]:
    """The disks that a crash before the operation of *snapshot* may leave, at most about *limit*."""
    if mode == "kill":
        yield from _killed(snapshot)
    else:
        yield from _lost(snapshot.state, mode, limit, random.Random(f"{seed} {snapshot.number} {mode}"))


def _killed(snapshot: Snapshot) -> Iterator[Outcome]:
    state = snapshot.state
    # the operations of the next process are counted from 0
    state = state._replace(pending=tuple(c._replace(number=c.number - snapshot.number) for c in state.pending))
    yield Outcome(state, "killed")
    if snapshot.data:
        inode = state.inodes[snapshot.inode]
        half = inode._replace(data=inode.data + snapshot.data[: len(snapshot.data) // 2])
        yield Outcome(state._replace(inodes={**state.inodes, snapshot.inode: half}), "killed half way through the write")


def _lost(state: State, mode: Mode, limit: int, rng: random.Random) -> Iterator[Outcome]:
    name_choices = _prefixes(state.pending) if mode == "ordered" else [(False, True)] * len(state.pending)
    dirty = _dirty(state)
    byte_choices = [range(len(_fates(state.inodes[number], mode))) for number in dirty]
    choices: list[Sequence[int]] = [*name_choices, *byte_choices]
    for pick in _picks(choices, limit, rng):
        kept = _kept(state.pending, pick[: len(name_choices)], mode)
        if _torn_rename(state.pending, kept):
            continue
        fates = dict(zip(dirty, pick[len(name_choices) :], strict=True))
        yield _outcome(state, kept, fates, mode)


def _prefixes(pending: Sequence[Change]) -> list[Sequence[int]]:
    """For each folder with pending names: how many of them may be kept."""
    folders = dict.fromkeys(change.folder for change in pending)
    return [range(sum(change.folder == folder for change in pending) + 1) for folder in folders]


def _kept(pending: Sequence[Change], pick: Sequence[int], mode: Mode) -> list[bool]:
    if mode == "weak":
        return [bool(choice) for choice in pick]
    left = dict(zip(dict.fromkeys(change.folder for change in pending), pick, strict=True))
    kept = []
    for change in pending:
        kept.append(left[change.folder] > 0)
        left[change.folder] -= 1
    return kept


def _torn_rename(pending: Sequence[Change], kept: Sequence[bool]) -> bool:
    """Tell whether an old name ends here without its new one."""
    missing = {c.number for c, keep in zip(pending, kept, strict=True) if not keep and not c.needs_other}
    return any(c.needs_other and keep and c.number in missing for c, keep in zip(pending, kept, strict=True))


def _dirty(state: State) -> list[int]:
    """Files with unsynced bytes that some name may lead to after the crash."""
    named = {number for entries in state.settled.values() for number in entries.values()}
    named.update(number for change in state.pending for _, number in change.sets if number is not None)
    return [n for n in sorted(named) if state.inodes[n].is_file and state.inodes[n].durable < len(state.inodes[n].data)]


def _fates(inode: Inode, mode: Mode) -> list[tuple[str, bytes]]:
    """What may be left of a file with unsynced bytes."""
    sure, rest = inode.data[: inode.durable], inode.data[inode.durable :]
    fates = [
        ("without the unsynced bytes", sure),
        ("with all bytes", inode.data),
        ("with half of the unsynced bytes", sure + rest[: len(rest) // 2]),
    ]
    return fates if mode == "ordered" else [*fates, ("with zeros for the unsynced bytes", sure + bytes(len(rest)))]


def _picks(choices: Sequence[Sequence[int]], limit: int, rng: random.Random) -> Iterator[tuple[int, ...]]:
    if math.prod(len(choice) for choice in choices) <= limit:
        yield from itertools.product(*choices)
        return
    yield tuple(choice[0] for choice in choices)
    yield tuple(choice[-1] for choice in choices)
    for _ in range(limit - 2):
        yield tuple(rng.choice(choice) for choice in choices)


def _outcome(state: State, kept: Sequence[bool], fates: dict[int, int], mode: Mode) -> Outcome:
    names = dict(state.settled)
    lost = []
    for change, keep in zip(state.pending, kept, strict=True):
        if keep:
            names[change.folder] = applied(names[change.folder], change.sets)
        else:
            lost.append(f"lost: {change.text}")
    inodes = dict(state.inodes)
    for number, choice in fates.items():
        fate, data = _fates(inodes[number], mode)[choice]
        inodes[number] = inodes[number]._replace(data=data)
        lost.append(f"file {_name_of(state, number)} {fate}")
    return Outcome(settle(inodes, names), f"power lost ({mode}); " + ("; ".join(lost) or "nothing lost"))


def _name_of(state: State, number: int) -> str:
    for folder, entries in (*state.live.items(), *state.settled.items()):
        for name, found in entries.items():
            if found == number:
                return f"{folder}/{name}" if folder else name
    return f"number {number}"
