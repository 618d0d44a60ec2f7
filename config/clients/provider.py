"""HTTP requests to vendors, with a time limit, a size limit, no redirects, and no secrets in errors."""

from collections.abc import Mapping
from json import dumps, loads
from typing import Any
from urllib.parse import urlencode

from config.core.errors import ApiError
from config.core.json_text import is_deeper
from config.core.outgoing import Answer, NoAnswer, exchange

READ_TIMEOUT_SECONDS = 15.0
ANSWER_MAX_BYTES = 1_048_576
_DEPTH_MAX = 64


class ProviderUnavailable(ApiError):
    status, error, code = 502, "provider_unavailable", "E5003"
    message = "A vendor that this operation requires is not available. Retry later."


class ProviderError(Exception):
    """A request to a vendor failed.

    `outcome_unknown` is true if the request may have had an effect. `word` is the kind of failure for logs: connect,
    tls, timeout, reset, redirect, too_large, or unreadable.
    """

    def __init__(self, word: str, *, outcome_unknown: bool) -> None:
        super().__init__(f"The vendor is not available: {word}.")
        self.word = word
        self.outcome_unknown = outcome_unknown


class ProviderAnswer(Answer):
    def json(self, **options: Any) -> Any:
        """Parse the body as JSON. Raises ProviderError `unreadable` for any other body.

        `options` are arguments of `json.loads`. The nesting is checked first, because deep nesting exceeds the
        decoder's recursion limit.
        """
        if is_deeper(self.body, _DEPTH_MAX):
            raise ProviderError("unreadable", outcome_unknown=True)
        try:
            # `loads` would also accept UTF-16 and UTF-32.
            document = loads(self.body.decode("utf-8-sig"), **options)
            # The database rejects unpaired surrogates, which only escape sequences can encode.
            return _repaired(document) if rb"\u" in self.body else document
        except (ValueError, ArithmeticError) as error:  # an exponent that is too large raises ArithmeticError
            raise ProviderError("unreadable", outcome_unknown=True) from error


def _repaired(value: Any) -> Any:
    """Replace each unpaired surrogate in a JSON document with `?`."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, list):
        return [_repaired(member) for member in value]
    if isinstance(value, dict):
        return {_repaired(name): _repaired(member) for name, member in value.items()}
    return value


def call(
    method: str,
    url: str,
    *,
    params: Mapping[str, Any] | None = None,
    json: Any = None,
    form: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    seconds: float | None = None,
    ca_file: str = "",
) -> ProviderAnswer:
    """Send a request, and read the response within `seconds` (default: READ_TIMEOUT_SECONDS).

    Raises ProviderError for an incomplete response and for a redirect. Redirects are not followed.
    """
    body, kind = b"", {}
    if json is not None:
        body, kind = dumps(json).encode(), {"Content-Type": "application/json"}
    elif form is not None:
        body, kind = urlencode(form).encode(), {"Content-Type": "application/x-www-form-urlencoded"}
    try:
        answer = exchange(
            method,
            f"{url}?{urlencode(params)}" if params else url,
            body=body,
            headers={**kind, **(headers or {})},
            seconds=READ_TIMEOUT_SECONDS if seconds is None else seconds,
            max_bytes=ANSWER_MAX_BYTES,
            ca_file=ca_file,
        )
    except NoAnswer as error:
        raise ProviderError(error.word, outcome_unknown=error.was_sent) from error
    if 300 <= answer.status < 400:
        raise ProviderError("redirect", outcome_unknown=True)
    return ProviderAnswer(answer.status, answer.headers, answer.body)
