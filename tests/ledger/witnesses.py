"""Serve a double of a C2SP witness in this process, and create logs for the witness to cosign."""

import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ledger import merkle
from ledger.checkpoint import (
    Checkpoint,
    NoteError,
    Signer,
    WitnessVerifier,
    cosigned_message,
    decode_hash,
    encode_base64,
    open_note,
    parse_note,
)
from ledger.keys import KEY_FILE_NAME
from tests.ledger.trees import tree_root

LOG = Signer("ledger.example/log", Ed25519PrivateKey.from_private_bytes(bytes(range(32))))


@dataclass(frozen=True)
class Cosigner:
    """The name and the private key of a witness."""

    name: str
    private_key: Ed25519PrivateKey

    @property
    def verifier(self):
        return WitnessVerifier(self.name, self.private_key.public_key().public_bytes_raw())

    def cosign(self, text, timestamp):
        """Sign a checkpoint's text with `timestamp`, in seconds since 1970."""
        return self.verifier.signature(timestamp, self.private_key.sign(cosigned_message(text, timestamp).encode()))


def cosigner(number=1):
    return Cosigner(f"witness.example/w{number}", Ed25519PrivateKey.from_private_bytes(bytes([100 + number]) * 32))


class Witness:
    """Respond to `POST /add-checkpoint` by C2SP tlog-witness, and store heads only in memory."""

    def __init__(self, number=1, logs=(LOG.verifier,)):
        self.cosigner = cosigner(number)
        self._logs = {log.name: log for log in logs}
        self._heads = {}
        self._lock = threading.Lock()

    def __call__(self, environ, start_response):
        status, text, media_type = self.add_checkpoint(environ["wsgi.input"].read())
        start_response(status, [("Content-Type", media_type)])
        return [text.encode()]

    def add_checkpoint(self, body):
        """Return the response to a request: status line, text, media type."""
        with self._lock:
            return self._answer(body)

    def _answer(self, body, plain="text/plain; charset=utf-8"):
        head, _, note = body.decode().partition("\n\n")
        old, *proof = head.split("\n")
        checkpoint = Checkpoint.from_text(parse_note(note)[0])
        if checkpoint.origin not in self._logs:
            return "404 Not Found", "unknown log\n", plain
        try:
            text = open_note(note, self._logs[checkpoint.origin])
        except NoteError:
            return "403 Forbidden", "unknown key\n", plain
        size, root = self._heads.get(checkpoint.origin, (0, merkle.EMPTY_ROOT))
        if old != f"old {size}":
            return "409 Conflict", f"{size}\n", "text/x.tlog.size"
        if size == checkpoint.size and root != checkpoint.root:
            return "409 Conflict", "another tree of that size\n", plain
        try:
            hashes = [decode_hash(line) for line in proof]
            merkle.verify_consistency(size, checkpoint.size, hashes, root, checkpoint.root)
        except merkle.InvalidProofError:
            return "422 Unprocessable Content", "inconsistent\n", plain
        self._heads[checkpoint.origin] = checkpoint.size, checkpoint.root
        return "200 OK", self.cosigner.cosign(text, int(time.time())).line(), plain


def leaves_of(size, side=""):
    """Return the leaf hashes of a small tree; another `side` changes the last leaf."""
    names = [f"leaf {number}" for number in range(size)]
    if side:
        names[-1] += side
    return [merkle.leaf_hash(name.encode()) for name in names]


def note_of(leaves, signer=LOG):
    """Return the signed checkpoint of the tree over these leaves."""
    return signer.sign(Checkpoint(signer.name, len(leaves), tree_root(leaves)).text())


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_line):
        pass


@contextmanager
def serving(*applications):
    """Serve WSGI applications on separate ports; yield their URLs."""
    with ExitStack() as stack:
        addresses = []
        for application in applications:
            server = make_server("127.0.0.1", 0, _limited(application), server_class=_Server, handler_class=_Quiet)
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.005}, daemon=True).start()
            stack.callback(server.server_close)
            stack.callback(server.shutdown)
            addresses.append(f"http://127.0.0.1:{server.server_address[1]}")
        yield addresses


def _limited(application):
    """End the body at its Content-Length like gunicorn, because wsgiref does not."""

    def limited(environ, start_response):
        stream, length = environ["wsgi.input"], int(environ.get("CONTENT_LENGTH") or 0)

        class Body:
            def read(self, size=-1):
                return stream.read(length if size < 0 else min(size, length))

        return application({**environ, "wsgi.input": Body()}, start_response)

    return limited


def policy_of(addresses, quorum="2", log=LOG.verifier):
    """Return a policy with a witness for each address, named w1, w2, …; `quorum` is a number, "any", or "all"."""
    names = [f"w{number}" for number in range(1, len(addresses) + 1)]
    lines = [f"log {log.vkey}"]
    lines += [
        f"witness {name} {cosigner(number).verifier.vkey} {address}"
        for number, (name, address) in enumerate(zip(names, addresses, strict=True), start=1)
    ]
    lines += [f"group all-of-them {quorum} {' '.join(names)}", "quorum all-of-them", ""]
    return "\n".join(lines)


@contextmanager
def watched_log(folder, origin):
    """Store the key of a log in VAR_DIR, and serve a witness of it; yield the path of a policy with this witness."""
    log, policy = Signer(origin, LOG.private_key), folder / "witness-policy"
    (folder / KEY_FILE_NAME).write_text(encode_base64(LOG.private_key.private_bytes_raw()))
    with serving(Witness(logs=[log.verifier])) as addresses:
        policy.write_text(policy_of(addresses, "1", log.verifier))
        yield policy
