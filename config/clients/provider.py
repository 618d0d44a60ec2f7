"""The one way out: HTTP to providers, with a deadline, a size cap, no redirects and no secrets in errors."""

import json
import time
from dataclasses import dataclass
from typing import Any

import requests
from urllib3.exceptions import HTTPError as TransportError

from config.core.errors import ApiError
from config.core.json_text import is_deeper

CONNECT_TIMEOUT_SECONDS = 5.0
READ_TIMEOUT_SECONDS = 15.0
ANSWER_MAX_BYTES = 1_048_576
_CHUNK_BYTES = 16_384
_DEPTH_MAX = 64


class ProviderUnavailable(ApiError):
    status, error, code = 502, "provider_unavailable", "E5003"
    message = "A provider that this needs cannot be used at the moment. Try again."


class ProviderError(Exception):
    """`outcome_unknown` is False when the request certainly had no effect (it never left); True when it may have had
    one. `word` names the kind of failure for logs: connect, timeout, reset, redirect, too_large, unreadable.
    """

    def __init__(self, word: str, *, outcome_unknown: bool) -> None:
        super().__init__(f"The provider could not be used: {word}.")
        self.word = word
        self.outcome_unknown = outcome_unknown


@dataclass(frozen=True, slots=True)
class ProviderAnswer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self, **options: Any) -> Any:
        """Return the body as JSON; raises ProviderError `unreadable` when it is none. `options` are those of
        `json.loads`. Nesting is looked at first: the decoder's recursion must not be a provider's to exhaust.
        """
        if is_deeper(self.body, _DEPTH_MAX):
            raise ProviderError("unreadable", outcome_unknown=True)
        try:
            # As UTF-8, which is what was looked at: left to guess, the decoder also reads UTF-16 and UTF-32.
            return json.loads(self.body.decode("utf-8-sig"), **options)
        except ValueError as error:
            raise ProviderError("unreadable", outcome_unknown=True) from error


def outbound_session() -> requests.Session:
    """Return a session that ignores proxies and credentials of the process environment."""
    session = requests.Session()
    session.trust_env = False
    return session


def call(
    session: requests.Session,
    method: str,
    url: str,
    *,
    read_timeout_seconds: float = READ_TIMEOUT_SECONDS,
    **options: Any,
) -> ProviderAnswer:
    """Send one request and read its whole answer within `read_timeout_seconds`.

    `options` are `requests.Session.request`'s `params`, `data`, `json`, `headers`, `auth`. Raises ProviderError for
    everything that is not a complete answer; a redirect is one of those and is never followed.
    """
    deadline = time.monotonic() + CONNECT_TIMEOUT_SECONDS + read_timeout_seconds
    try:
        with session.request(
            method,
            url,
            timeout=(CONNECT_TIMEOUT_SECONDS, read_timeout_seconds),
            allow_redirects=False,
            stream=True,
            **options,
        ) as response:
            if 300 <= response.status_code < 400:
                raise ProviderError("redirect", outcome_unknown=True)
            body = _read(response, deadline)
            return ProviderAnswer(response.status_code, dict(response.headers), body)
    except (requests.ConnectTimeout, requests.exceptions.InvalidURL, requests.exceptions.MissingSchema) as error:
        raise ProviderError("connect", outcome_unknown=False) from error
    except requests.Timeout as error:
        raise ProviderError("timeout", outcome_unknown=True) from error
    except (requests.RequestException, TransportError, OSError) as error:
        refused = "NewConnectionError" in repr(error) or "NameResolutionError" in repr(error)
        raise ProviderError("connect" if refused else "reset", outcome_unknown=not refused) from error


def _read(response: requests.Response, deadline: float) -> bytes:
    content = bytearray()
    for chunk in response.iter_content(_CHUNK_BYTES):
        content += chunk
        if len(content) > ANSWER_MAX_BYTES:
            raise ProviderError("too_large", outcome_unknown=True)
        if time.monotonic() > deadline:
            raise ProviderError("timeout", outcome_unknown=True)
    return bytes(content)
