"""How a server's memory is laid out; in processes of their own, since it is for good."""

import subprocess
import sys

import pytest

from tests.config.server import ROOT

# How many heaps a process has after eight threads have allocated at the same time, by the C library's own report.
HEAPS = """
import ctypes, re, tempfile, threading
from config import memory

{first}
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
barrier = threading.Barrier(8)

def allocate():
    barrier.wait()
    for _ in range(1000):
        libc.malloc(2000)
    barrier.wait()

threads = [threading.Thread(target=allocate) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
libc.fopen.restype = ctypes.c_void_p
with tempfile.NamedTemporaryFile() as file:
    stream = ctypes.c_void_p(libc.fopen(file.name.encode(), b"w"))
    libc.malloc_info(0, stream)
    libc.fclose(stream)
    print(len(re.findall("<heap nr", file.read().decode())))
"""


def heaps(first):
    """Run it with a line before the threads."""
    run = subprocess.run(
        [sys.executable, "-c", HEAPS.format(first=first)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return int(run.stdout)


def test_threads_share_one_heap():
    if sys.platform != "linux" or heaps("") == 1:
        pytest.skip("this C library gives threads no heaps of their own")
    assert heaps("assert memory.keep_one_heap()") == 1


def test_another_c_library_is_left_alone(monkeypatch):
    from config import memory

    monkeypatch.setattr(memory.ctypes, "CDLL", lambda _name: object())
    assert memory.keep_one_heap() is False


def test_what_was_loaded_is_not_looked_through_again():
    code = (
        "import gc; from config import memory; memory.keep_what_is_loaded()\n"
        "print(gc.get_freeze_count(), len(gc.get_objects()))"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    frozen, left = map(int, run.stdout.split())
    assert frozen > 1000 > left
