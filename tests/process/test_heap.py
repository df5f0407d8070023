"""The memory of a long-running supervisor: what threads have freed is returned, not kept in a pool of each."""

import platform
import subprocess
import sys

import pytest

#: Ten threads at once hold memory of the C library, so that each wants a pool of its own; the library then counts its pools.
THREADS = """
import ctypes, sys, threading
from recalld.supervisor.storage.process import limit_malloc_arenas
if sys.argv[1] == "one":
    limit_malloc_arenas()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.fdopen.restype = ctypes.c_void_p, ctypes.c_void_p
here = threading.Barrier(10)
def hold():
    here.wait()
    held = [libc.malloc(1000) for _ in range(1000)]
    here.wait()
threads = [threading.Thread(target=hold) for _ in range(10)]
[one.start() for one in threads], [one.join() for one in threads]
out = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, out), libc.fflush(out)
"""

#: Holds 60 MB in pieces, frees all but the last, which is above them, and gives back what is free.
PIECES = """
import ctypes
from recalld.supervisor.storage.process import give_back_memory, limit_malloc_arenas
limit_malloc_arenas()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
held = [libc.malloc(20_000) for _ in range(3_000)]
for one in held:
    ctypes.memset(one, 1, 20_000)
for one in held[:-1]:
    libc.free(one)
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
before = resident()
give_back_memory()
print(before - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has pools for threads")
def test_limit_malloc_arenas_leaves_one_arena_for_all_threads():
    pools = {
        how: subprocess.run([sys.executable, "-c", THREADS, how], capture_output=True, text=True, check=True).stdout.count(
            "<heap nr="
        )
        for how in ("one", "many")
    }
    assert pools["one"] == 1
    assert pools["many"] > 1


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps what is freed below what is in use")
def test_give_back_memory_returns_what_is_freed_below_what_is_in_use():
    ended = subprocess.run([sys.executable, "-c", PIECES], capture_output=True, text=True, check=True)
    assert int(ended.stdout) > 50_000_000
