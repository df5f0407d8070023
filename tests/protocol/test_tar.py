"""The reader of tars: what other programs pack is read, and no header leads it backwards, far away or round in a ring."""

import hashlib
import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.protocol.backup_file import BackupFile, Contents, Entry, members, render_end, render_file
from recalld.supervisor.storage.errors import BadBackup

_END = bytes(1024)
NAMES = st.lists(st.text("a记 é\n\udcff", min_size=1, max_size=90), min_size=1, max_size=5).map("/".join)


def read(data: bytes) -> list[tuple[str, bytes]]:
    return [(one.name, data[one.offset_data : one.offset_data + one.size]) for one in members(Path("b.tar"), io.BytesIO(data))]


def header(name: str = "x", *, size: bytes = b"%011o\0" % 0, kind: bytes = b"0", form: int = tarfile.USTAR_FORMAT) -> bytes:
    """A header with this field for the size, and a right sum."""
    block = bytearray(tarfile.TarInfo(name).tobuf(form))
    block[124:136], block[156:157] = size, kind
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def before(kind: bytes, data: bytes) -> bytes:
    """What stands before the header of a file."""
    return header("x", size=b"%011o\0" % len(data), kind=kind) + data + bytes(-len(data) % 512)


def record(key: str, value: str) -> bytes:
    length = len(f" {key}={value}\n".encode())
    return f"{next(n for n in range(length, length + 9) if n == length + len(str(n)))} {key}={value}\n".encode()


@given(st.lists(st.tuples(NAMES, st.binary(max_size=1500)), max_size=4))
def test_members_are_what_was_rendered(files: Iterable[tuple[str, bytes]]):
    assert read(b"".join(render_file(Entry(name, len(body), "", -5), body) for name, body in files) + _END) == [*files]


HOSTILE = {
    "negative size": header(size=b"-0000001000\0"),
    "negative size by a record": before(b"x", record("size", "-512")) + header(),
    "size behind the end": header(size=b"%011o\0" % (1 << 30)),
    "size of 2 ** 88": header(size=b"\x80" + b"\xff" * 11),
    "records of a petabyte": header(size=b"\x80" + (1 << 50).to_bytes(11), kind=b"x") + header(),
    "record before a record, on and on": before(b"x", record("path", "a")) * 5_000 + header(),
    "records for all files": before(b"g", record("path", "a")) + header(),
    "record with a length of 0": before(b"x", b"0 path=a\n") + header(),
    "record that ends in itself": before(b"x", b"3 path=a\n") + header(),
    "sparse file of GNU": header(kind=b"S", form=tarfile.GNU_FORMAT),
    "long link": before(b"K", b"/etc/passwd\0") + header(),
    "wrong sum": header().replace(b"0644", b"0666"),
    "half a header": header()[:300],
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_backup_with_a_hostile_header_is_refused(tmp_path: Path, hostile: bytes):
    body = "花生".encode()
    entry = Entry("memory.md", len(body), hashlib.sha256(body).hexdigest(), 0)
    good, end = render_file(entry, body), render_end(Contents("2026-01-31T10:00:00.000Z", "1", (entry,)))
    for data in (hostile + good + end, good + hostile + end, good + end + hostile, good + hostile):
        (tmp_path / "b.tar").write_bytes(data)
        try:
            with BackupFile.opened(tmp_path / "b.tar") as backup:
                assert (data.startswith(good + end), [*backup.read(entry)]) == (True, [body]), (
                    "what is behind the end is not read"
                )
        except BadBackup:
            continue
