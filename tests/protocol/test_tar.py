"""The reader of tars: what tarfile and GNU's tar write is read, and no header leads it backwards, far away or round in a ring."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.protocol.backup_file import Entry, members, render_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_END = bytes(1024)
NAMES = st.lists(st.text("a记 é\n\udcff", min_size=1, max_size=90), min_size=1, max_size=5).map("/".join)


def read(data: bytes) -> list[tuple[str, bytes]]:
    return [(one.name, data[one.offset : one.offset + one.size]) for one in members(io.BytesIO(data))]


def header(name: str = "x", *, size: bytes = b"%011o\0" % 0, kind: bytes = b"0", form: int = tarfile.USTAR_FORMAT) -> bytes:
    """A header with this field for the size, and a right sum."""
    block = bytearray(tarfile.TarInfo(name).tobuf(form))
    block[124:136], block[156:157] = size, kind
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def before(kind: bytes, data: bytes, said: int | None = None) -> bytes:
    """What stands before the header of a file; *said* is the size that it claims."""
    size = b"%011o\0" % (len(data) if said is None else said)
    return header("x", size=size, kind=kind) + data + bytes(-len(data) % 512)


def record(key: str, value: str) -> bytes:
    length = len(f" {key}={value}\n".encode())
    return f"{next(n for n in range(length, length + 9) if n == length + len(str(n)))} {key}={value}\n".encode()


@given(st.lists(st.tuples(NAMES, st.binary(max_size=1500)), max_size=4))
def test_members_are_what_was_rendered_and_what_tarfile_reads(files: Iterable[tuple[str, bytes]]):
    data = b"".join(render_file(Entry(name, len(body), "", -5), body) for name, body in files) + _END
    assert read(data) == [*files]
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        assert [(one.name, one.size, one.offset_data) for one in tar.getmembers()] == [
            (one.name, one.size, one.offset) for one in members(io.BytesIO(data))
        ]


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_members_of_a_tar_that_another_program_has_packed_again(form):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=form) as tar:
        for name in ("memory.md", f"memory/{'a' * 90}/{'b' * 90}.md"):
            info = tarfile.TarInfo(name)
            info.size = 6
            tar.addfile(info, io.BytesIO("花生".encode()))
    assert [body for _, body in read(file.getvalue())] == ["花生".encode()] * 2
    assert [len(name) for name, _ in read(file.getvalue())] == [9, 191]


def test_members_reads_a_size_that_octal_digits_cannot_hold(tmp_path: Path):
    path = tmp_path / "大.tar"
    with path.open("wb") as file:
        file.write(before(b"x", record("size", str(9 << 30))) + header())
        file.truncate(10 << 30)
    with path.open("rb") as file:
        assert [one.size for one in members(file)] == [9 << 30]


LARGE = b"x" * 2000
HOSTILE = {
    "negative size": header(size=b"-0000001000\0"),
    "negative size in binary": header(size=b"\xff" * 10 + b"\xfe\x00"),
    "negative size of what stands before": header(kind=b"x", size=b"\xff" * 10 + b"\xfe\x00"),
    "negative size by a record": before(b"x", record("size", "-512")) + header(),
    "size by a record that is no number": before(b"x", record("size", "1_0")) + header(),
    "size with an underscore": header(size=b"0000000_000\0"),
    "size behind the end": header(size=b"%011o\0" % (1 << 30)),
    "size behind the end by a record": before(b"x", record("size", "9" * 19)) + header(),
    "size of 2 ** 88": header(size=b"\x80" + b"\xff" * 11),
    "records without an end": before(b"x", record("path", "a"), said=1 << 30),
    "records of 16 kB and more": before(b"x", record("path", "a" * (1 << 14))) + header(),
    "records before records": before(b"x", record("path", "a")) * 2 + header(),
    "a long name before a long name": before(b"L", b"a\0") * 2000 + header(),
    "records for all files": before(b"g", record("path", "a")) + header(),
    "record with a length of 0": before(b"x", b"0 path=a\n") + header(),
    "record that is longer than its records": before(b"x", b"99 path=a\n") + header(),
    "record that ends in itself": before(b"x", b"3 path=a\n") + header(),
    "sparse file of pax": before(b"x", record("GNU.sparse.numblocks", "9" * 12)) + header(),
    "sparse file of GNU": header(kind=b"S", form=tarfile.GNU_FORMAT),
    "long link": before(b"K", b"/etc/passwd\0") + header(),
    "wrong sum": header().replace(b"0644", b"0666"),
    "no magic": header().replace(b"ustar", b"\0" * 5),
    "half a header": header()[:300],
    "a day's noise": LARGE,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_members_refuses_a_hostile_header(kind):
    good = render_file(Entry("memory.md", 6, "", 0), "花生".encode())
    for data in (HOSTILE[kind], good + HOSTILE[kind], HOSTILE[kind] + good):
        with pytest.raises(ValueError, match=r"^$|backup\.not_a_file|in it is a link"):
            read(data if kind == "half a header" and data.endswith(HOSTILE[kind]) else data + _END)


def test_members_refuses_records_of_no_file():
    with pytest.raises(ValueError, match=r"^$"):
        read(before(b"x", record("path", "a")) + _END)


def test_members_reads_a_header_once_and_no_more_of_a_file_than_it_must():
    """The work of a reader is counted, not timed: two reads a file at most, whatever the headers say."""

    class Counting(io.BytesIO):
        reads = size = 0

        def read(self, size: int | None = -1, /) -> bytes:
            data = super().read(size)
            self.reads, self.size = self.reads + 1, self.size + len(data)
            return data

    data = render_file(Entry(f"{'深/' * 30}x", 5000, "", 0), bytes(5000)) * 200 + _END
    file = Counting(data)
    assert len([*members(file)]) == 200
    assert file.reads <= 3 * 200 + 1
    assert file.size < len(data) / 3
