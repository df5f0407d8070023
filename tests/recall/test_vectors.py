"""The vectors on disk: each text once, near ones found by their codes, and any damage is a file that is not there."""

import errno
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.recall.vectors import VectorStore
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import SupervisorError
from recalld.supervisor.storage.files import Files


def store_in(folder, name="model 1"):
    return VectorStore(Files(RealDisk()), folder / "vectors", folder / "lock", name)


def chance(count, size=512, seed=0):
    found = np.random.default_rng(seed).normal(0.2, 1, (count, size)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


@given(st.lists(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=9, unique=True), min_size=1, max_size=12))
def test_store_has_each_text_once_and_the_last_vector_of_it(tmp_path_factory, batches):
    folder = tmp_path_factory.mktemp("store")
    store, last = store_in(folder), {}
    for n, units in enumerate(batches):
        store.add(units, np.full((len(units), 3), (1.0, n / 12, 0), np.float32))
        last |= dict.fromkeys(units, round(127 * n / 12))
    for table in (store_in(folder).table(), store.table()):
        numbers = table.rows["numbers"][table.places, 1]
        assert dict(zip(table.units.tolist(), numbers.tolist(), strict=True)) == last
    assert store.lacking([*last]) == []
    keep = [*last][: (len(last) + 1) // 2]
    store.keep(keep)
    assert set(keep) <= set(store.table().units.tolist())


@pytest.mark.parametrize("size", [7, 64, 100, 384, 512, 1024])
def test_vectors_are_as_they_were_within_a_hundredth(tmp_path, size):
    vectors, store = chance(50, size), store_in(tmp_path)
    store.add(range(50), vectors)
    assert np.allclose(store.table().vectors(np.arange(50)) @ vectors[0], vectors @ vectors[0], atol=0.01)


def test_codes_find_the_nearest_of_many(tmp_path):
    subjects, store = chance(100), store_in(tmp_path)
    vectors = np.repeat(subjects, 50, axis=0) + chance(5_000, seed=1)
    store.add(range(5_000), vectors)
    table = store.table()
    for n, asked in enumerate(subjects + chance(100, seed=2)):
        there = table.rows["unit"][table.near(asked, 300)]
        assert np.count_nonzero(there // 50 == n) >= 48  # of the fifty of its subject


def test_vectors_of_another_model_or_length_are_never_mixed(tmp_path):
    store_in(tmp_path).add([1], chance(1))
    other = store_in(tmp_path, "model 2")
    assert other.table() is None
    other.add([2], chance(1))
    assert store_in(tmp_path).table().units.tolist() == [1]
    other.remove_others()
    assert store_in(tmp_path).table() is None
    other.add([3], chance(1, 7))
    assert (other.table().units.tolist(), other.table().size) == ([3], 7)


HARMS = {
    "cut": lambda file: file.write_bytes(file.read_bytes()[:-7]),
    "rubbish": lambda file: file.write_bytes(bytes(20_000)),
    "a link": lambda file: file.symlink_to(file.rename(file.parents[1] / "elsewhere")),
}


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_a_damaged_file_is_left_out_and_replaced(tmp_path, harm):
    store_in(tmp_path).add([1], chance(1))
    (file,) = (tmp_path / "vectors").iterdir()
    harm(file)
    fresh = store_in(tmp_path)
    assert fresh.table() is None
    assert fresh.lacking([1]) == [1]
    fresh.add([1], chance(1))
    assert store_in(tmp_path).lacking([1]) == []


@pytest.mark.parametrize("harm", ["name", "numbers", "sum", "page"])
def test_a_damaged_row_is_left_out_and_the_others_stay(tmp_path, harm):
    vectors = chance(30)
    store_in(tmp_path).add(range(1, 31), vectors)
    (file,) = (tmp_path / "vectors").iterdir()
    data, row = bytearray(file.read_bytes()), file.stat().st_size // 30
    if harm == "page":
        data[4096:8192] = bytes(4096)
    else:
        data[10 * row + {"name": 0, "numbers": 99, "sum": row - 1}[harm]] ^= 0x40
    file.write_bytes(data)
    store, gone = store_in(tmp_path), [*range(8, 17)] if harm == "page" else [11]
    assert store.lacking(range(1, 31)) == gone
    store.add(gone, vectors[np.array(gone) - 1])
    table = store_in(tmp_path).table()
    assert table.units.tolist() == [*range(1, 31)]
    assert (np.einsum("ij,ij->i", table.vectors(table.places), vectors) > 0.99).all()


@pytest.mark.parametrize("count", [40, 50, 60])
def test_a_file_written_over_in_place_is_read_again(tmp_path, count):
    store, other = store_in(tmp_path), store_in(tmp_path / "other")
    store.add(range(1, 51), chance(50))
    assert store.table()
    (tmp_path / "other").mkdir()
    other.add(range(51, 1, -1)[:count] if count < 60 else range(1001, 1061), chance(count, seed=1))
    (file,), (source,) = (tmp_path / "vectors").iterdir(), (tmp_path / "other/vectors").iterdir()
    before = file.stat()
    with file.open("r+b") as written:
        written.write(source.read_bytes())
        written.truncate()
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert file.stat().st_ino == before.st_ino
    table, fresh = store.table(), store_in(tmp_path).table()
    assert (table.units.tolist(), table.places.tolist()) == (fresh.units.tolist(), fresh.places.tolist())
    assert all(np.array_equal(one.codes, again.codes) for one, again in zip(table.blocks, fresh.blocks, strict=True))


class FullDisk(RealDisk):
    """A disk that has room for half a row more."""

    def __init__(self):
        self.is_full, self.asked = True, 0

    def write(self, handle, data):
        if self.is_full:
            self.asked += len(data)
            super().write(handle, data[:300] if self.asked == len(data) else b"")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().write(handle, data)


def test_a_full_disk_has_no_vector_written_twice(tmp_path):
    store_in(tmp_path).add(range(1, 33), chance(32))
    disk = FullDisk()
    store = VectorStore(Files(disk), tmp_path / "vectors", tmp_path / "lock", "model 1")
    for _ in range(3):
        with pytest.raises(OSError, match="space"):
            store.add([33, 34], chance(2))
        assert store.lacking(range(1, 35)) == [33, 34]
    assert disk.asked < 10 * store.table().rows.itemsize
    disk.is_full = False
    store.add([33, 34], chance(2))
    assert store_in(tmp_path).lacking(range(1, 35)) == []


def test_a_file_that_is_cut_off_while_it_is_open_is_left_out(tmp_path):
    store = store_in(tmp_path)
    store.add(range(9), chance(9))
    assert store.table()
    (file,) = (tmp_path / "vectors").iterdir()
    os.truncate(file, 100)
    assert store.table() is None


def test_a_link_in_place_of_the_folder_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "vectors").symlink_to(tmp_path / "elsewhere")
    with pytest.raises((OSError, SupervisorError)):
        store_in(tmp_path).add([1], chance(1))
    assert store_in(tmp_path).table() is None
    assert list((tmp_path / "elsewhere").iterdir()) == []
