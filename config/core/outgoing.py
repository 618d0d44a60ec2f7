"""HTTP to other servers by `requests`: one request, one response, and one deadline for both.

`requests` bounds each wait and not their sum, so a server that sends a byte now and then would hold a thread forever.
Here the sockets of the connection pool read the limits of the running exchange before each operation. No redirect is
followed. No proxy, cookie or log-in is read from the process environment.
"""

import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pycurl

CONNECT_SECONDS = 5.0
WORDS = {
    pycurl.E_COULDNT_RESOLVE_HOST: "connect",
    pycurl.E_COULDNT_CONNECT: "connect",
    pycurl.E_URL_MALFORMAT: "connect",
    pycurl.E_OPERATION_TIMEDOUT: "timeout",
    pycurl.E_SSL_CONNECT_ERROR: "tls",
    pycurl.E_SSL_CIPHER: "tls",
    pycurl.E_PEER_FAILED_VERIFICATION: "tls",
    pycurl.E_SSL_CACERT_BADFILE: "tls",
    pycurl.E_GOT_NOTHING: "reset",
    pycurl.E_PARTIAL_FILE: "reset",
    pycurl.E_SEND_ERROR: "reset",
    pycurl.E_RECV_ERROR: "reset",
    pycurl.E_ABORTED_BY_CALLBACK: "stopped",
}
# One for each thread: libcurl keeps a handle's connections open for the next request.
_handles = threading.local()


class NoAnswer(Exception):
    """No complete response arrived. `word` is one of connect, tls, timeout, reset, stopped, too_large and unreadable.

    `was_sent` is False if no byte of the request has left. `status` is that of the final status line, 0 without one.
    """

    def __init__(self, word: str, *, was_sent: bool) -> None:
        super().__init__(word)
        self.word, self.was_sent = word, was_sent


@dataclass(frozen=True, slots=True)
class Answer:
    """`headers` are by their names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def exchange(
    method: str,
    url: str,
    *,
    seconds: float,
    max_bytes: int,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    connect_seconds: float = CONNECT_SECONDS,
    ca_file: str = "",
    is_stopped: Callable[[], bool] | None = None,
) -> Answer:
    """Send a GET or a POST and read its response, all within `seconds`; raises NoAnswer.

    The body may have `max_bytes`. If `is_stopped` is given, it is called about once a second and ends the exchange.
    A POST is sent once, over a connection of its own. A GET is repeated if its kept connection had been closed.
    """
    lines = [f"{name}: {value}" for name, value in (headers or {}).items()]
    if not all(line.isprintable() for line in lines):
        raise NoAnswer("unreadable", was_sent=False)
    if not hasattr(_handles, "curl"):
        _handles.curl = pycurl.Curl()
    curl, found, content = _handles.curl, _Headers(), bytearray()

    def take_body(piece: bytes) -> int | None:
        content.extend(piece)
        return 0 if len(content) > max_bytes else None

    try:
        prepare(curl, url, seconds=seconds, connect_seconds=connect_seconds, ca_file=ca_file)
        if method == "POST":
            curl.setopt(curl.POSTFIELDS, body)
            # Over a kept connection that ends without an answer libcurl would send it again.
            curl.setopt(curl.FRESH_CONNECT, True)
        curl.setopt(curl.HTTPHEADER, ["Expect:", *lines])
        curl.setopt(curl.HEADERFUNCTION, found.take)
        curl.setopt(curl.WRITEFUNCTION, take_body)
        if is_stopped is not None:
            curl.setopt(curl.NOPROGRESS, False)
            curl.setopt(curl.XFERINFOFUNCTION, lambda *_progress: 1 if is_stopped() else 0)
        curl.perform()
        return Answer(curl.getinfo(curl.RESPONSE_CODE), found.by_name, bytes(content))
    except pycurl.error as error:
        was_sent = curl.getinfo(curl.REQUEST_SIZE) > 0
        word = "too_large" if len(content) > max_bytes else WORDS.get(error.args[0], "unreadable")
        raise NoAnswer(word, was_sent=was_sent) from error
    finally:
        curl.reset()  # the connections stay


class _Headers:
    """The head of the answer: of several, after a `100 Continue`, the last."""

    def __init__(self) -> None:
        self.by_name: dict[str, str] = {}

    def take(self, line: bytes) -> None:
        name, colon, value = line.decode("latin-1").partition(":")
        if colon:
            self.by_name[name.lower()] = value.strip()
        elif name.startswith("HTTP/"):
            self.by_name.clear()


def prepare(
    curl: pycurl.Curl, url: str, *, seconds: float, connect_seconds: float = CONNECT_SECONDS, ca_file: str = ""
) -> None:
    """Set what every request of ours has in common."""
    curl.setopt(curl.URL, url)
    curl.setopt(curl.PATH_AS_IS, True)
    curl.setopt(curl.PROTOCOLS, curl.PROTO_HTTP | curl.PROTO_HTTPS)
    curl.setopt(curl.HTTP_VERSION, curl.CURL_HTTP_VERSION_1_1)
    curl.setopt(curl.PROXY, "")  # whatever the environment says
    curl.setopt(curl.FOLLOWLOCATION, False)
    curl.setopt(curl.NOSIGNAL, True)  # signals and threads do not go together
    curl.setopt(curl.TIMEOUT_MS, milliseconds(seconds))
    curl.setopt(curl.CONNECTTIMEOUT_MS, milliseconds(connect_seconds))
    system = ssl.get_default_verify_paths()
    paths = ((curl.CAINFO, ca_file),) if ca_file else ((curl.CAINFO, system.cafile), (curl.CAPATH, system.capath))
    for option, path in paths:
        if path is not None:
            curl.setopt(option, path)


def milliseconds(seconds: float) -> int:
    """Return a deadline as libcurl takes it, for which zero would mean none."""
    return max(1, round(seconds * 1000))
