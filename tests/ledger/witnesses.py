"""A double of a C2SP witness in this process, with a key of its own, and logs for it to watch."""

import threading
from contextlib import ExitStack, contextmanager
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ledger import merkle
from ledger.checkpoint import Checkpoint, Signer, encode_base64
from ledger.cosignature import Cosigner
from ledger.witness import HeadStore, Witness
from tests.ledger.trees import tree_root

LOG = Signer("ledger.example/log", Ed25519PrivateKey.from_private_bytes(bytes(range(32))))


def cosigner(number=1):
    """The key of the witness with this number."""
    return Cosigner(f"witness.example/w{number}", Ed25519PrivateKey.from_private_bytes(bytes([100 + number]) * 32))


def make_witness(folder, number=1, logs=(LOG.verifier,)):
    """A witness that keeps its heads in this folder."""
    return Witness(cosigner(number), logs, HeadStore(folder / f"w{number}.sqlite3"))


def leaves_of(size, side=""):
    """Leaf hashes of a small tree; another `side` differs in its last leaf."""
    names = [f"leaf {number}" for number in range(size)]
    if side:
        names[-1] += side
    return [merkle.leaf_hash(name.encode()) for name in names]


def note_of(leaves, signer=LOG):
    """The signed checkpoint of the tree over these leaves."""
    return signer.sign(Checkpoint(signer.name, len(leaves), tree_root(leaves)).text())


def request_of(old_size, leaves, signer=LOG):
    """The body of `add-checkpoint` for a tree that continues its first `old_size` leaves."""
    proof = [tree_root(leaves[a:b]) for a, b in merkle.consistency_ranges(old_size, len(leaves))]
    lines = [f"old {old_size}", *map(encode_base64, proof)]
    return ("\n".join(lines) + "\n\n" + note_of(leaves, signer)).encode()


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_line):
        pass


@contextmanager
def serving(*applications):
    """Serve WSGI applications on ports of their own; their addresses."""
    with ExitStack() as stack:
        addresses = []
        for application in applications:
            server = make_server("127.0.0.1", 0, _limited(application), server_class=_Server, handler_class=_Quiet)
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
            stack.callback(server.server_close)
            stack.callback(server.shutdown)
            addresses.append(f"http://127.0.0.1:{server.server_address[1]}")
        yield addresses


def _limited(application):
    """Do what gunicorn does and wsgiref does not: end the body where its length says."""

    def limited(environ, start_response):
        stream, length = environ["wsgi.input"], int(environ.get("CONTENT_LENGTH") or 0)

        class Body:
            def read(self, size=-1):
                return stream.read(length if size < 0 else min(size, length))

        return application({**environ, "wsgi.input": Body()}, start_response)

    return limited


def policy_of(addresses, quorum="2", log=LOG.verifier):
    """A policy with a witness for each address, named w1, w2, …; `quorum` is a threshold or a whole line."""
    names = [f"w{number}" for number in range(1, len(addresses) + 1)]
    lines = [f"log {log.vkey}"]
    lines += [
        f"witness {name} {cosigner(number).verifier.vkey} {address}"
        for number, (name, address) in enumerate(zip(names, addresses, strict=True), start=1)
    ]
    lines += [f"group all-of-them {quorum} {' '.join(names)}", "quorum all-of-them", ""]
    return "\n".join(lines)
