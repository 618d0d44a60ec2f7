"""Kill a process group repeatedly under load: `python tests/system/ledger/storm.py ROUNDS`.

DATABASE_URL must be an empty PostgreSQL database. Each round forks a group of two processes with eight threads each.
The threads anchor through Django's test client, and report each acknowledged hash and each checkpoint through a pipe.
At a random time, the script kills the group. It then verifies the log, and prints a JSON object. The object contains
the number of missing hashes, and the number of checkpoints that are not a prefix of the log.
"""

# ruff: noqa: E402  Django must be set up before its modules are imported.

import base64
import json
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

START_SECONDS = 120.0
PROCESSES, THREADS = 2, 8

os.environ["SERVICE"] = "ledger"
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.bench.settings")  # its rate limits are too high to reach
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import django

django.setup()

from django.core.management import call_command
from django.db import connections
from django.test import Client

from ledger import log
from ledger.audit import verify_log
from ledger.checkpoint import open_checkpoint
from ledger.keys import signer


def anchor_forever(pipe: int) -> None:
    """Anchor reports until the process is killed, and report hashes and checkpoints."""
    client = Client(headers={"host": "127.0.0.1"})
    number = 0
    while True:
        number += 1
        os.write(pipe, b"\n")  # raises BrokenPipeError if the reader has ended
        body = {"user_id": "42", "report_type": "storm", "report_data": os.urandom(16).hex()}
        response = client.post("/anchor", json.dumps(body), content_type="application/json")
        if response.status_code == 200:
            os.write(pipe, f"A {response.json()['hash']}\n".encode())
        if number % 5 == 0:
            response = client.get("/checkpoint")
            if response.status_code == 200:
                os.write(pipe, b"C " + base64.b64encode(response.content) + b"\n")


def run_group(pipe: int) -> None:
    """Run the process group that `run_round` kills."""
    os.setsid()
    for _ in range(PROCESSES - 1):
        if os.fork() == 0:
            break
    for _ in range(THREADS - 1):
        threading.Thread(target=anchor_forever, args=(pipe,), daemon=True).start()
    anchor_forever(pipe)


def run_round() -> list[bytes]:
    """Start a group, and kill it at a random time; return the complete lines that it reported."""
    connections.close_all()
    reader, writer = os.pipe()
    group = os.fork()
    if group == 0:
        os.close(reader)
        run_group(writer)
    os.close(writer)
    patience, killed_at = time.monotonic() + START_SECONDS, None
    received = b""
    os.set_blocking(reader, False)
    while time.monotonic() < (killed_at or patience):
        if killed_at is None and b"C " in received:
            # A hash was acknowledged and signed, so a kill could now lose it.
            killed_at = time.monotonic() + random.uniform(0.05, 0.35)
        try:
            received += os.read(reader, 65_536)
        except BlockingIOError:
            time.sleep(0.005)
    os.killpg(group, signal.SIGKILL)
    os.waitpid(group, 0)
    os.set_blocking(reader, True)
    while chunk := os.read(reader, 65_536):
        received += chunk
    os.close(reader)
    return received.split(b"\n")[:-1]


def main(rounds: int) -> None:
    """Run the rounds, verify the log, and print the result."""
    call_command("migrate", verbosity=0)  # rate limits use a table
    lines = [line for _ in range(rounds) for line in run_round()]
    acknowledged = [bytes.fromhex(line[2:].decode()) for line in lines if line.startswith(b"A ")]
    notes = {base64.b64decode(line[2:]).decode() for line in lines if line.startswith(b"C ")}
    entries, blocks = verify_log(signer().verifier)
    head = log.read_head()
    heads = [open_checkpoint(note, signer().verifier) for note in notes]
    outcome = {
        "rounds": rounds,
        "acknowledged": len(acknowledged),
        "missing": sum(log.find_record(report_hash) is None for report_hash in acknowledged),
        "entries": entries,
        "blocks": blocks,
        "checkpoints": len(heads),
        "inconsistent": sum(log.range_roots([(0, item.size)], head) != [item.root] for item in heads),
    }
    sys.stdout.write(json.dumps(outcome) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
