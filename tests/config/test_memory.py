"""How a server's memory is laid out; in processes of their own, since it is for good."""

import subprocess
import sys

import pytest
from gunicorn.config import Config
from gunicorn.workers import gthread

from config import memory, worker
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


# What a process holds, in pages, with blocks in use, with holes between a few that still are, and after giving back.
HOLES = """
import ctypes
from pathlib import Path
from config import memory

memory.keep_one_heap()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
held = lambda: int(Path("/proc/self/statm").read_text().split()[1])
blocks = [libc.malloc(4_000) for _ in range(16_000)]
for block in blocks:
    ctypes.memset(block, 1, 4_000)
full = held()
for number, block in enumerate(blocks):
    if number % 16:
        libc.free(block)
holes = held()
print(memory.give_back(), full, holes, held())
"""


def test_memory_that_lies_free_between_blocks_in_use_is_given_back():
    run = subprocess.run([sys.executable, "-c", HOLES], cwd=ROOT, capture_output=True, text=True, check=True)
    done, *pages = run.stdout.split()
    if done == "False":
        pytest.skip("this C library gives nothing back")
    full, holes, left = map(int, pages)
    needed = 16_000 * 4_000 // 4_096
    assert full - holes < needed / 4, "the library gave it back by itself: this shows nothing"
    assert holes - left > needed * 3 / 4


def test_a_worker_gives_back_now_and_then(monkeypatch):
    given = []
    monkeypatch.setattr(memory, "give_back", lambda: given.append(True))
    monkeypatch.setattr(gthread.ThreadWorker, "notify", lambda _worker: None)
    clock = 1_000.0
    monkeypatch.setattr(worker.time, "monotonic", lambda: clock)
    one = worker.DeadlineWorker(1, 1, [], None, 30, Config(), None)
    for minute in range(1, 4):
        for _ in range(2):
            clock += 30
            one.notify()
        assert len(given) == minute


def test_another_c_library_is_left_alone(monkeypatch):
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda _name: object())
    assert memory.keep_one_heap() is False
    assert memory.give_back() is False


def test_what_was_loaded_is_not_looked_through_again():
    code = (
        "import gc; from config import memory; memory.keep_what_is_loaded()\n"
        "print(gc.get_freeze_count(), len(gc.get_objects()))"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    frozen, left = map(int, run.stdout.split())
    assert frozen > 1000 > left
