"""Send consecutive POST requests to a receiver at checked addresses, each with a time limit.

The host name is resolved and checked once, and all connections use the checked addresses.
"""

import time
from collections.abc import Mapping, Sequence

from config.clients.addresses import AddressRefused, addresses_of, read_url
from config.core.outgoing import Adapter, Address, Answer, Exchange, NoAnswer, Resolve, resolve_by_system, send

ANSWER_MAX_BYTES = 20_000  # includes headers


class AttemptFailed(Exception):
    """No complete response arrived. `word` is the kind of failure in the delivery log.

    The kinds are invalid_url, blocked_address, blocked_port, unresolvable, connect, tls, timeout, reset, and
    bad_answer.
    """

    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word


class Channel:
    """A connection to a receiver for consecutive requests, which stays open as long as the receiver allows."""

    def __init__(self, url: str, *, resolve: Resolve = resolve_by_system, allow_private: bool | None = None) -> None:
        """Store the receiver's URL. `post` opens the connection.

        `resolve` replaces the system's resolver. `allow_private` overrides the setting.
        """
        self._url, self._resolve, self._allow_private = url, resolve, allow_private
        self._adapter = Adapter()
        self._address = ""
        self._addresses: Sequence[Address] = ()

    def post(self, body: bytes, headers: Mapping[str, str], *, seconds: float) -> Answer:
        """Send a POST request and read the response within `seconds`. Raises AttemptFailed.

        A response needs only a final status line. If the rest of the response is incomplete, `headers` and `body` of
        the result are empty.
        """
        ends_at = time.monotonic() + seconds
        try:
            if not self._addresses:
                target = read_url(self._url, allow_private=self._allow_private)
                self._addresses = addresses_of(target, resolve=self._resolve, seconds=seconds)
                self._address = f"{target.scheme}://{target.host_header}{target.path}"
        except AddressRefused as refusal:
            raise AttemptFailed(refusal.word) from refusal
        limits = Exchange(
            ends_at=ends_at, connect_seconds=seconds, max_bytes=ANSWER_MAX_BYTES, resolve=lambda _host: self._addresses
        )
        try:
            return send(
                self._adapter, "POST", self._address, limits,
                body=body, headers=headers, max_body_bytes=ANSWER_MAX_BYTES,
            )  # fmt: skip
        except NoAnswer as error:
            if error.status:
                return Answer(error.status, {}, b"")
            raise AttemptFailed("bad_answer" if error.word in {"unreadable", "too_large"} else error.word) from error

    def close(self) -> None:
        self._adapter.close()
