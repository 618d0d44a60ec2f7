"""Handling of unknown names in a request: rejection with a suggestion, or a list in the response's `X-Ignored`."""

import difflib
from collections.abc import Collection, Iterable
from typing import Any
from urllib.parse import quote

from config.core.errors import ValidationFailed

HEADER = "X-Ignored"
LISTED_MAX = 20
HEADER_MAX_LENGTH = 1_000  # proxies reject more than 4 KiB of headers in total
# The header contains longer names truncated. The error suggests no correction for them, because comparing long names is
# slow.
NAME_MAX_LENGTH = 64


class UnknownNames(ValidationFailed):
    """The request has unknown names, and the endpoint rejects unknown names."""

    names_are_ours = False


def listed(names: Iterable[str]) -> str:
    """Return the header's value: percent-encoded names, separated by commas, up to `HEADER_MAX_LENGTH` characters."""
    text = ""
    for name in list(names)[:LISTED_MAX]:
        encoded = quote(name[:NAME_MAX_LENGTH], safe="[]:.$")
        longer = f"{text}, {encoded}" if text else encoded
        if len(longer) > HEADER_MAX_LENGTH:
            break
        text = longer
    return text


def refuse(names: Collection[str], known: Collection[str]) -> None:
    """Raise UnknownNames if `names` is not empty, with the most similar known name for each name."""
    if names:
        details = [{"field": name, "message": _message(name, known)} for name in list(names)[:LISTED_MAX]]
        first = details[0]
        raise UnknownNames(f"{first['field']}: {first['message']}", details=details)


def _message(name: str, known: Collection[str]) -> str:
    similar = difflib.get_close_matches(name, known, n=1) if len(name) <= NAME_MAX_LENGTH else []
    return f"Unknown field. Did you mean `{similar[0]}`?" if similar else "Is unknown."


def unread_in(query: Any, document: Any, declared: Any) -> list[str]:
    """Return the unknown names in the query string and the JSON body of a request to an endpoint.

    Raises UnknownNames if the endpoint rejects unknown names. A body may have fields of the response, because a client
    may send a response back.
    """
    fields = {} if declared.parameters is None else declared.parameters.shared().fields
    parameters = [name for name in query if name not in fields]
    if declared.parameters is not None and declared.parameters.refuses_unknown:
        refuse(parameters, list(fields))
    if declared.body is None or not isinstance(document, dict):
        return parameters
    fields = declared.body.shared().fields
    members = [name for name in document if name not in fields]
    if members and declared.body.refuses_unknown:
        shown = declared.answer().fields if isinstance(declared.answer, type) else {}
        refuse([name for name in members if name not in shown], list(fields))
    return parameters + members
