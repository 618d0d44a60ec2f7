"""The strict JSON parser for all request bodies of both services.

Python's decoder accepts duplicate keys, NaN, unlimited nesting, NUL characters, and lone surrogates. Other parsers
crash on such input, or interpret it differently. So this parser rejects the body.
"""

import json
import math
import threading
from contextlib import nullcontext
from typing import Any, NoReturn

from django.core.exceptions import RequestDataTooBig

from config.core.errors import MalformedJSON, PayloadTooLarge
from config.core.ids import INT64_MAX, INT64_MIN
from config.core.json_text import depth, marks_of, without_texts

BODY_MAX_BYTES = 1_048_576
DEPTH_MAX = 32
MEMBERS_MAX = 10_000

_LONGEST_INT64 = 20  # the length of -9223372036854775808


def read_body(request: Any, *, limit: int = BODY_MAX_BYTES) -> bytes:
    """Return the raw body. Django caches it.

    Raises PayloadTooLarge if the body is longer than `limit` bytes, and MalformedJSON if it is shorter than its
    `Content-Length`.
    """
    length = int(request.META.get("CONTENT_LENGTH") or 0)
    if length > limit:
        raise PayloadTooLarge(f"The body must have at most {limit} bytes.")
    try:
        body: bytes = request.body
    except RequestDataTooBig as error:
        raise PayloadTooLarge from error
    except OSError as error:
        raise MalformedJSON("The server could not read the body. Send the request again.") from error
    if len(body) < length:
        raise MalformedJSON("The body is shorter than its `Content-Length`.")
    return body


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise MalformedJSON("An object has the same key twice.")
    return members


def _integer(text: str) -> int:
    if len(text) <= _LONGEST_INT64:
        number = int(text)
        if INT64_MIN <= number <= INT64_MAX:
            return number
    raise MalformedJSON("An integer must fit in 64 bits.")


def _number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise MalformedJSON("A number is too large.")
    return number


def _constant(text: str) -> NoReturn:
    raise MalformedJSON(f"{text} is not valid JSON.")


# Parsing needs up to 8 times the size of a body in memory, and parallel threads do not parse faster.
_one_large_body = threading.Lock()
_decoder = json.JSONDecoder(object_pairs_hook=_pairs, parse_int=_integer, parse_float=_number, parse_constant=_constant)


def _too_many(members_max: int) -> MalformedJSON:
    return MalformedJSON(f"The document must have at most {members_max} fields.")


def _check_extent(body: bytes, members_max: int) -> None:
    """Reject nesting above DEPTH_MAX, and bodies whose commas and brackets show more than `members_max` items.

    An accepted body creates at most a few times `members_max` objects. See Note [Looking before decoding] in
    `config.core.json_text`.
    """
    marks = marks_of(body)
    # A field has at most two strings, its name and its value. The document itself can be a single string.
    if marks.count(b'"') > 2 * (2 * members_max + 1):
        raise _too_many(members_max)
    marks = without_texts(marks)
    # Each comma separates two values. Each container except the outermost is a value.
    if marks.count(b",") >= members_max or marks.count(b"[") + marks.count(b"{") > members_max + 1:
        raise _too_many(members_max)
    if depth(marks) > DEPTH_MAX:
        raise MalformedJSON(f"The document must have at most {DEPTH_MAX} levels of nesting.")


def _check_content(document: Any, members_max: int) -> None:
    members = 0
    pending: list[Any] = [document]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            if "\0" in value:
                raise MalformedJSON("A string must not contain a NUL character.")
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise MalformedJSON("A string must not contain half of a surrogate pair.") from error
        elif isinstance(value, dict | list):
            members += len(value)
            pending.extend(value)
            if isinstance(value, dict):
                pending.extend(value.values())
        if members > members_max:
            raise _too_many(members_max)


def parse_json(body: bytes, *, members_max: int = MEMBERS_MAX) -> Any:
    """Return the JSON document in `body`, which must be UTF-8.

    Raises MalformedJSON for duplicate keys, NaN, infinities, NUL, lone surrogates, integers above 64 bits, more than
    DEPTH_MAX levels, or more than `members_max` items and fields.
    """
    if not body:
        raise MalformedJSON("The body is empty.")
    with _one_large_body if len(body) > BODY_MAX_BYTES else nullcontext():
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError as error:
            raise MalformedJSON("The body must be UTF-8.") from error
        containers = body.count(b"[") + body.count(b"{")
        # In a container that is not empty, the number of values is the number of commas plus 1.
        may_be_large = containers + body.count(b",") > members_max
        if may_be_large or containers > DEPTH_MAX:
            _check_extent(body, members_max)
        try:
            document = _decoder.decode(text)
        except ValueError as error:
            raise MalformedJSON(f"The body is not valid JSON: {error}.") from error
        if may_be_large or b"\\u" in body:  # only an escape can contain NUL or half of a surrogate pair
            _check_content(document, members_max)
        return document
