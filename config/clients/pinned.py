"""Sends one POST after another to a receiver, at an address that was checked, each within one deadline.

A name is resolved once, and every connection is made to the addresses that were checked then.
"""

import socket
import time
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

import pycurl

from config.clients.addresses import AddressRefused, Resolve, addresses_of, read_url, resolve_by_system
from config.core.outgoing import WORDS, milliseconds, prepare

ANSWER_MAX_BYTES = 20_000  # of the whole answer, headers included
PIECE_BYTES = 1_024  # read at once, so also what may be read beyond that
_HEADERS_MAX = 100
_ADDRESSES_TRIED_MAX = 4


class AttemptFailed(Exception):
    """No response, or an incomplete one, arrived. `word` names the kind for the delivery's log.

    One of: invalid_url, blocked_address, blocked_port, unresolvable, connect, tls, timeout, reset, bad_answer.
    """

    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word


class Reply:
    """A receiver's answer: its status, its headers by their names in lower case; the body is counted and not kept."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.size = 0
        self._lines = 0

    def take_header(self, line: bytes) -> int | None:
        """Take a line of the head; anything but None ends the exchange."""
        name, _, value = line.decode("latin-1").partition(":")
        self.headers[name.lower()] = value.strip()
        self._lines += 1
        return 0 if self._lines > _HEADERS_MAX else self.take_body(line)

    def take_body(self, piece: bytes) -> int | None:
        self.size += len(piece)
        return 0 if self.size > ANSWER_MAX_BYTES else None


class Channel:
    """A way to one receiver, for one request after the other; the connection is kept while the receiver keeps it."""

    def __init__(self, url: str, *, resolve: Resolve = resolve_by_system, allow_private: bool | None = None) -> None:
        """Connect to nothing yet. `resolve` stands in for the system's resolver, `allow_private` for the setting, as in
        `read_url`.
        """
        self._url, self._resolve, self._allow_private = url, resolve, allow_private
        self._curl: pycurl.Curl | None = None

    def post(self, body: bytes, headers: Mapping[str, str], *, seconds: float) -> Reply:
        """Send one POST and read its response, all within `seconds`; raises AttemptFailed.

        The final status line is the response, even if more data follow; `headers` are empty if the head is incomplete.
        """
        ends_at = time.monotonic() + seconds
        try:
            curl = self._curl = self._curl or self._prepared(seconds)
        except AddressRefused as refusal:
            raise AttemptFailed(refusal.word) from refusal
        reply = Reply()
        curl.setopt(curl.POSTFIELDS, body)
        curl.setopt(curl.HTTPHEADER, ["Accept:", "Expect:", *(f"{name}: {value}" for name, value in headers.items())])
        curl.setopt(curl.HEADERFUNCTION, reply.take_header)
        curl.setopt(curl.WRITEFUNCTION, reply.take_body)
        curl.setopt(curl.TIMEOUT_MS, milliseconds(ends_at - time.monotonic()))
        try:
            curl.perform()
        except pycurl.error as error:
            if reply.size <= ANSWER_MAX_BYTES:  # else enough was read to know the status
                raise AttemptFailed(WORDS.get(error.args[0], "bad_answer")) from error
        reply.status = curl.getinfo(curl.RESPONSE_CODE)
        if not reply.status:
            raise AttemptFailed("bad_answer")
        return reply

    def close(self) -> None:
        if self._curl is not None:
            self._curl.close()
            self._curl = None

    def _prepared(self, seconds: float) -> pycurl.Curl:
        target = read_url(self._url, allow_private=self._allow_private)
        addresses = addresses_of(target, resolve=self._resolve, seconds=seconds)[:_ADDRESSES_TRIED_MAX]

        def connect(_purpose: int, wanted: Any) -> Any:
            if ip_address(wanted.addr[0]) not in addresses:
                return pycurl.SOCKET_BAD
            return socket.socket(wanted.family, wanted.socktype, wanted.protocol)

        curl = pycurl.Curl()
        prepare(curl, f"{target.scheme}://{target.host_header}{target.path}", seconds=seconds)
        if target.literal is None:
            curl.setopt(curl.RESOLVE, [f"{target.host}:{target.port}:{','.join(map(str, addresses))}"])
        curl.setopt(curl.OPENSOCKETFUNCTION, connect)
        curl.setopt(curl.BUFFERSIZE, PIECE_BYTES)
        return curl
