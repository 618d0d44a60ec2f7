"""Being a witness: the whole ladder of `add-checkpoint`, races, and a process that dies at the worst moment."""

import base64
import io
import os
import signal
import sqlite3
import threading

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from config.core import faults
from ledger.checkpoint import Signer, open_note
from ledger.witness import MAX_REQUEST_BYTES, read_logs
from tests.ledger.witnesses import LOG, cosigner, leaves_of, make_witness, note_of, request_of

# Each round forks a process that is killed; all hundred take a few seconds.
KILLS = int(os.environ.get("WITNESS_KILLS", "10"))
STRANGER = Signer("stranger.example/log", Ed25519PrivateKey.from_private_bytes(b"s" * 32))
IMPOSTOR = Signer(LOG.name, Ed25519PrivateKey.from_private_bytes(b"i" * 32))


@pytest.fixture
def witness(tmp_path):
    return make_witness(tmp_path)


def call(witness, body, path="/add-checkpoint", method="POST"):
    """Ask as a WSGI server would; status, media type, text."""
    told = []
    environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "wsgi.input": io.BytesIO(body)}
    content = b"".join(witness(environ, lambda status, headers: told.extend([status, dict(headers)])))
    assert int(told[1]["Content-Length"]) == len(content)
    return int(told[0][:3]), told[1]["Content-Type"], content.decode()


def cosigned(witness, body):
    """Ask, and return what was cosigned: size and root, verified."""
    status, _, lines = call(witness, body)
    assert status == 200, lines
    note = body.decode().partition("\n\n")[2]
    text = open_note(note + lines, witness.cosigner.verifier)
    return int(text.split("\n")[1]), text.split("\n")[2]


def test_a_log_is_cosigned_from_head_to_head(witness):
    for old, new in ((0, 1), (1, 2), (2, 7), (7, 7), (7, 64), (64, 300)):
        assert cosigned(witness, request_of(old, leaves_of(new)))[0] == new


def test_every_step_between_small_trees_is_cosigned(tmp_path):
    leaves = leaves_of(7)
    steps = [(old, new) for new in range(1, 8) for old in range(new + 1)]
    logs = [Signer(f"log.example/{old}-{new}", LOG.private_key) for old, new in steps]
    witness = make_witness(tmp_path, logs=[log.verifier for log in logs])
    for log, (old, new) in zip(logs, steps, strict=True):
        if old:
            cosigned(witness, request_of(0, leaves[:old], log))
        assert cosigned(witness, request_of(old, leaves[:new], log))[0] == new


def test_the_heads_are_kept_for_the_next_process(witness, tmp_path):
    cosigned(witness, request_of(0, leaves_of(5)))
    assert call(make_witness(tmp_path), request_of(0, leaves_of(6)))[::2] == (409, "5\n")


def test_another_size_is_named_in_the_type_of_the_format(witness):
    cosigned(witness, request_of(0, leaves_of(9)))
    for old in (0, 4, 10):
        assert call(witness, request_of(old, leaves_of(12))) == (409, "text/x.tlog.size", "9\n")


def test_an_empty_log_can_be_cosigned_and_has_one_root(witness):
    assert cosigned(witness, request_of(0, []))[0] == 0
    other = LOG.sign(f"{LOG.name}\n0\n{base64.b64encode(bytes(32)).decode()}\n")
    assert call(witness, f"old 0\n\n{other}".encode())[0] == 409


def test_another_tree_of_the_same_size_is_refused_and_reported(witness, caplog):
    cosigned(witness, request_of(0, leaves_of(9)))
    assert call(witness, request_of(9, leaves_of(9, "fork")))[:2] == (409, "text/plain; charset=utf-8")
    assert repr(note_of(leaves_of(9, "fork"))) in caplog.text


def test_what_does_not_continue_the_head_is_refused(witness):
    cosigned(witness, request_of(0, leaves_of(9)))
    fork = leaves_of(9, "fork") + leaves_of(12)[9:]
    assert call(witness, request_of(9, fork))[0] == 422
    good = request_of(9, leaves_of(12))
    head, rest = good.split(b"\n\n", 1)
    lines = head.split(b"\n")
    for bent in (lines[:-1], lines[:1], [*lines, lines[1]], [lines[0], *lines[:0:-1]]):
        assert call(witness, b"\n".join(bent) + b"\n\n" + rest)[0] == 422, bent
    assert cosigned(witness, good)[0] == 12


def test_a_first_checkpoint_has_no_proof(witness):
    body = request_of(0, leaves_of(9)).replace(b"old 0\n", b"old 0\n" + base64.b64encode(bytes(32)) + b"\n", 1)
    assert call(witness, body)[0] == 422


def test_an_unknown_log_is_not_found(witness):
    assert call(witness, request_of(0, leaves_of(3), STRANGER))[0] == 404


def test_a_checkpoint_that_no_known_key_signed_is_forbidden(witness):
    assert call(witness, request_of(0, leaves_of(3), IMPOSTOR))[0] == 403
    body = request_of(0, leaves_of(3))
    signature = body.rstrip().rpartition(b" ")[2]
    bent = bytearray(base64.b64decode(signature))
    bent[-1] ^= 1
    assert call(witness, body.replace(signature, base64.b64encode(bent)))[0] == 403


def test_signatures_of_others_are_ignored(witness):
    text = note_of(leaves_of(3)).partition("\n\n")[0] + "\n"
    assert cosigned(witness, request_of(0, leaves_of(3)) + cosigner(5).cosign(text, 5).line().encode())[0] == 3


def test_a_log_may_have_several_keys(tmp_path):
    witness = make_witness(tmp_path, logs=[IMPOSTOR.verifier, LOG.verifier])
    assert cosigned(witness, request_of(0, leaves_of(3)))[0] == 3
    assert cosigned(witness, request_of(3, leaves_of(4), IMPOSTOR))[0] == 4


GOOD = request_of(0, leaves_of(9))


def test_what_is_no_request_is_refused(witness):
    for body in (
        b"", b"\n", b"old 0\n", b"old 0\n\n", GOOD[1:], GOOD[:-1], GOOD + b"\n", b" " + GOOD,
        GOOD.replace(b"\n", b"\r\n"),
        GOOD.replace(b"old 0", b"old 00"), GOOD.replace(b"old 0", b"old -1"), GOOD.replace(b"old 0", b"old +1"),
        GOOD.replace(b"old 0", b"old  0"), GOOD.replace(b"old 0", b"old"), GOOD.replace(b"old 0", b"old 10"),
        GOOD.replace(b"old 0", b"old 9223372036854775808"), GOOD.replace(b"old 0", b"old " + b"9" * 5_000),
        GOOD.replace(b"old 0", "old \u0660".encode()), GOOD.replace(b"old 0\n", b"old 0\nAAAA\n"),
        GOOD.replace(b"old 0\n", b"old 0\n" + b"A" * 44 + b"\n"), GOOD.replace(b"old 0\n\n", b"old 0\n"),
        GOOD.replace(b"old 0\n", b"old 0\n" + (base64.b64encode(bytes(32)) + b"\n") * 64),
        GOOD.replace(b"\n9\n", b"\n09\n"), GOOD.replace(b"\n9\n", b"\n9 \n"), GOOD.replace(b"ledger", b"\xff"),
        GOOD.replace(b"ledger", b"\x00"), GOOD.replace(b"old 0", b"old 0\x00"), b"{}", b"\xff\xfe",
    ):  # fmt: skip
        status, media_type, text = call(witness, body)
        assert (status, media_type) == (400, "text/plain; charset=utf-8"), body
        assert text.count("\n") == 1


def test_a_request_that_is_too_large_is_refused_unread(witness):
    assert call(witness, GOOD + b"x" * MAX_REQUEST_BYTES)[0] == 413
    assert call(witness, b"old 0\n\n" + b"x" * 66_000)[0] == 400


def test_other_addresses_and_methods(witness):
    assert call(witness, b"", method="GET")[0] == 405
    assert call(witness, b"", "/add-checkpoint/")[0] == 404
    assert call(witness, b"", "/", "GET")[::2] == (200, f"{witness.cosigner.verifier.vkey}\n")
    assert call(witness, b"", "/", "POST")[0] == 404


def test_a_store_that_cannot_be_written_is_told(witness, tmp_path):
    with sqlite3.connect(tmp_path / "w1.sqlite3") as other:
        other.execute("DROP TABLE head")
    assert call(witness, GOOD)[0] == 503


def test_of_many_at_once_each_size_is_cosigned_with_one_root(tmp_path):
    """Two sides of a fork race for every size; compare-and-set lets one of them win."""
    witness, seen, barrier = make_witness(tmp_path), [], threading.Barrier(8)

    def race(number):
        for size in range(1, 16):
            barrier.wait()
            status, _, _ = call(witness, request_of(size - 1, leaves_of(size, "fork" if number % 2 else "")))
            if status == 200:
                seen.append((size, number % 2))

    threads = [threading.Thread(target=race, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {size for size, _ in seen} >= {1}
    assert len(set(seen)) == len({size for size, _ in seen})


def die_after_keeping(witness, body):
    """Ask in a process of its own that is killed between keeping and signing; whether that happened."""
    child = os.fork()
    if child == 0:
        faults._POINTS["witness_kept"] = "kill"
        witness.add_checkpoint(body)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def test_killed_between_keeping_and_signing_it_never_signs_two_roots_of_one_size(tmp_path):
    store, signed, size = tmp_path, {}, 0
    for _ in range(KILLS):
        witness = make_witness(store)
        honest = leaves_of(size + 3)
        assert die_after_keeping(witness, request_of(size, honest))
        # The next process is shown the other side first, then the one that was kept.
        witness = make_witness(store)
        fork = [*honest[:-1], b"f" * 32]
        for body in (request_of(size, fork), request_of(size + 3, fork), request_of(size, honest)):
            assert call(witness, body)[0] == 409
        at, root = cosigned(witness, request_of(size + 3, honest))
        signed.setdefault(at, set()).add(root)
        size += 3
    assert len(signed) == KILLS
    assert all(len(roots) == 1 for roots in signed.values())


def test_a_file_of_keys_is_read_line_by_line():
    text = f"# ours\n{LOG.verifier.vkey}\n\n  {STRANGER.verifier.vkey}\n"
    assert read_logs(text) == [LOG.verifier, STRANGER.verifier]
    with pytest.raises(ValueError, match="line 2: a verifier key has the form"):
        read_logs("# ours\nhello\n")
    with pytest.raises(ValueError, match=r"line 1: .* type 0x01"):
        read_logs(cosigner().verifier.vkey)
