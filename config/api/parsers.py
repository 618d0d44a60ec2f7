"""JSON in: one strict reader, for every body of both services.

Python's own decoder accepts duplicate keys, NaN, documents nested until the stack ends, NUL characters and lone
surrogates. Each of those is somebody else's crash or a record that reads differently in another language, so a body
with any of them is refused before it reaches a serializer.
"""

import json
import math
import re
from typing import IO, Any, NoReturn
from urllib.parse import parse_qsl

from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest
from gunicorn.http.errors import ParseException
from rest_framework.parsers import BaseParser

from config.api.errors import BodyTimeout, MalformedJSON, PayloadTooLarge, UnsupportedMediaType, ValidationFailed
from config.api.ids import INT64_MAX, INT64_MIN

BODY_MAX_BYTES = 1_048_576
DEPTH_MAX = 32
MEMBERS_MAX = 10_000
FORM_MAX_MEMBERS = 64

_JSON_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_LONGEST_INT64 = 20  # characters of -9223372036854775808


def read_body(request: HttpRequest, *, limit: int = BODY_MAX_BYTES) -> bytes:
    """Return the raw body, read at most once.

    Raises PayloadTooLarge when it is longer than `limit` bytes, announced or not.
    """
    if hasattr(request, "_body"):
        body: bytes = request.body
        if len(body) > limit:
            raise PayloadTooLarge(f"The body may have at most {limit} bytes.")
        return body
    declared = request.META.get("CONTENT_LENGTH") or "0"
    if declared.isdigit() and int(declared) > limit:
        raise PayloadTooLarge(f"The body may have at most {limit} bytes.")
    stream: IO[bytes] = request  # type: ignore[assignment]
    if isinstance(request, WSGIRequest) and "CONTENT_LENGTH" not in request.META:
        # Without a length Django reads nothing; a server that ends chunked input itself says so, and is read.
        if not request.environ.get("wsgi.input_terminated"):
            return b""
        stream = request.environ["wsgi.input"]
    body = _read(stream, limit + 1)
    if len(body) > limit:
        raise PayloadTooLarge(f"The body may have at most {limit} bytes.")
    if declared.isdigit() and len(body) < int(declared):
        raise MalformedJSON("The body ended before its announced length.")
    # Where Django keeps a body once read, so that `request.body` gives the same bytes.
    request._body = body  # noqa: SLF001
    return body


def _read(stream: IO[bytes], size: int) -> bytes:
    """Return up to `size` bytes; raises BodyTimeout or MalformedJSON when the client sends something else instead."""
    try:
        return stream.read(size)
    except (OSError, ParseException) as error:
        # Django wraps what the socket raised.
        if isinstance(error, TimeoutError) or isinstance(error.__cause__, TimeoutError):
            raise BodyTimeout from error
        raise MalformedJSON("The body could not be read.") from error


def check_media_type(request: HttpRequest) -> None:
    """Raise UnsupportedMediaType unless the body is application/json, UTF-8, without content coding."""
    meta = request.META
    if meta.get("HTTP_CONTENT_ENCODING", "identity").strip().lower() not in {"", "identity"}:
        raise UnsupportedMediaType
    declared = meta.get("CONTENT_TYPE", "")
    if declared == "application/json":
        return
    if not declared and meta.get("CONTENT_LENGTH") in {None, "", "0"} and "HTTP_TRANSFER_ENCODING" not in meta:
        return  # a body that is not there has no type to be wrong; the reader says that it is missing
    media_type, _, parameters = declared.partition(";")
    if media_type.strip().lower() != "application/json":
        raise UnsupportedMediaType
    for parameter in filter(None, (part.strip() for part in parameters.split(";"))):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip().strip('"').lower() not in {"utf-8", "utf8"}:
            raise UnsupportedMediaType


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object, refusing a key that stands twice."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise MalformedJSON("A key stands twice in one object.")
    return members


def _integer(text: str) -> int:
    """Read an integer, refusing what no 64-bit field holds."""
    if len(text) <= _LONGEST_INT64:
        number = int(text)
        if INT64_MIN <= number <= INT64_MAX:
            return number
    raise MalformedJSON("An integer does not fit in 64 bits.")


def _number(text: str) -> float:
    """Read a number with a fraction or an exponent, refusing one that overflows."""
    number = float(text)
    if math.isinf(number):
        raise MalformedJSON("A number is too large.")
    return number


def _constant(text: str) -> NoReturn:
    """Refuse NaN and the infinities, which are not JSON."""
    raise MalformedJSON(f"{text} is not JSON.")


_decoder = json.JSONDecoder(object_pairs_hook=_pairs, parse_int=_integer, parse_float=_number, parse_constant=_constant)


def is_deeper(body: bytes, levels: int) -> bool:
    """Say whether a document is nested beyond so many levels, by looking at it, before any recursion happens."""
    if body.count(b"[") + body.count(b"{") <= levels:
        return False
    depth = 0
    for byte in _JSON_STRING.sub(b"", body):
        if byte in b"[{":
            depth += 1
            if depth > levels:
                return True
        elif byte in b"]}":
            depth -= 1
    return False


def _check_depth(body: bytes) -> None:
    """Refuse nesting beyond DEPTH_MAX."""
    if is_deeper(body, DEPTH_MAX):
        raise MalformedJSON(f"The document is nested deeper than {DEPTH_MAX} levels.")


def _check_content(body: bytes, document: Any) -> None:
    """Refuse too many members, and texts with NUL or half a surrogate pair; both are rare, so look only if needed."""
    escapes = b"\\u" in body
    # A container has one member more than it has commas, unless it is empty.
    if not escapes and body.count(b",") + body.count(b"[") + body.count(b"{") <= MEMBERS_MAX:
        return
    members = 0
    pending: list[Any] = [document]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            if "\0" in value:
                raise MalformedJSON("A text holds a NUL character.")
            if escapes and any("\ud800" <= character <= "\udfff" for character in value):
                raise MalformedJSON("A text holds half of a surrogate pair.")
        elif isinstance(value, dict):
            members += len(value)
            pending.extend(value)
            pending.extend(value.values())
        elif isinstance(value, list):
            members += len(value)
            pending.extend(value)
        if members > MEMBERS_MAX:
            raise MalformedJSON(f"The document has more than {MEMBERS_MAX} members.")


def parse_json(body: bytes) -> Any:
    """Return the document in `body`.

    Raises MalformedJSON for anything but one UTF-8 JSON document without duplicate keys, NaN, infinities, NUL
    characters, lone surrogates, integers beyond 64 bits, more than 32 levels or more than 10,000 members.
    """
    if not body:
        raise MalformedJSON("The body is empty.")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedJSON("The body is not UTF-8.") from error
    _check_depth(body)
    try:
        document = _decoder.decode(text)
    except ValueError as error:
        raise MalformedJSON(f"The body is not valid JSON: {error}.") from error
    _check_content(body, document)
    return document


class StrictJSONParser(BaseParser):
    """REST framework's view of `parse_json`."""

    media_type = "application/json"

    def parse(self, stream: IO[Any], media_type: str | None = None, parser_context: Any = None) -> Any:  # noqa: ARG002
        """Parse the whole stream."""
        return parse_json(stream.read(BODY_MAX_BYTES + 1))


def is_form(request: HttpRequest) -> bool:
    """Say whether the body is announced as an HTML form."""
    announced = str(request.META.get("CONTENT_TYPE", "")).partition(";")[0]
    return announced.strip().lower() == "application/x-www-form-urlencoded"


def parse_form(raw: bytes) -> dict[str, str]:
    """Return the members of an HTML form in UTF-8.

    Raises ValidationFailed when it is none, or when a member comes twice (RFC 6749, section 3.2).
    """
    try:
        pairs = parse_qsl(raw.decode(), keep_blank_values=True, errors="strict", max_num_fields=FORM_MAX_MEMBERS)
    except ValueError as error:
        raise ValidationFailed("The body is not a form in UTF-8.") from error
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValidationFailed("Every member must be given once.")
    return members
