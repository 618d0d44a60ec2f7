"""HTTP to witnesses, foreign logs and service A: bounded in size, never redirected, every failure one word."""

from dataclasses import dataclass
from typing import Any

import requests
from urllib3.exceptions import HTTPError as TransportError

_TIMEOUT_SECONDS = (2.0, 5.0)  # to connect, to wait for the next bytes


class NoAnswerError(Exception):
    """No complete answer came; the message says why in a few words."""


@dataclass(frozen=True)
class Answer:
    status: int
    content_type: str
    content: bytes


def exchange(
    session: requests.Session,
    method: str,
    address: str,
    *,
    max_bytes: int,
    timeout_seconds: tuple[float, float] = _TIMEOUT_SECONDS,
    **sent: Any,
) -> Answer:
    """Send a request and read its answer; NoAnswerError when none comes, or more than `max_bytes`.

    `sent` are `data`, `auth` and `verify` as requests takes them.
    """
    try:
        with session.request(
            method, address, timeout=timeout_seconds, allow_redirects=False, stream=True, **sent
        ) as response:
            body = response.raw.read(max_bytes + 1, decode_content=True)
            content_type = response.headers.get("Content-Type", "")
            status = response.status_code
    except (requests.RequestException, TransportError, OSError, ValueError) as error:
        raise NoAnswerError(f"no answer ({type(error).__name__})") from error
    if len(body) > max_bytes:
        raise NoAnswerError(f"an answer of more than {max_bytes} bytes")
    return Answer(status, content_type, body)
