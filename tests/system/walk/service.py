"""A client of a running service that records the called operations."""

import json
import re
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import quote, urlencode

BOUNDARY = "a-boundary-of-the-walk"
METHODS = {"get", "post", "put", "patch", "delete"}
DEADLINE_SECONDS = 120
ANY = re.compile("")


class WalkFailed(Exception):
    """Raised for an unexpected response or output; the message describes it."""


def file_form(content: bytes) -> bytes:
    """Encode a multipart form with a file in the field `file`."""
    head = 'Content-Disposition: form-data; name="file"; filename="walk.pdf"'
    return f"--{BOUNDARY}\r\n{head}\r\n\r\n".encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()


def _order(operation: str) -> tuple[int, str]:
    method = operation.partition(" ")[0]
    return {"GET": 0, "DELETE": 2}.get(method, 1), operation


class Service:
    """Calls operations by their names in the OpenAPI document, such as `GET /v1/claims/{claim_id}`."""

    def __init__(self, root: str, document: str, headers: dict[str, str]) -> None:
        self.root, self.headers = root, headers
        self.called: set[str] = set()
        paths = json.loads(self._send("GET", document, None)[1])["paths"]
        self.described = {
            f"{method.upper()} {path}": item[method] for path, item in paths.items() for method in METHODS & item.keys()
        }
        self.operations = {name: described["operationId"] for name, described in self.described.items()}
        # The last request of each operation by operationId; successful requests are preferred.
        self.exchanges: dict[str, dict[str, Any]] = {}

    def call(
        self, operation: str, body: Any = None, *, query: dict[str, Any] | None = None, status: int = 0, **path: Any
    ) -> Any:
        """Call an operation; return its parsed response. `status` is the expected status, or 0 for any success.

        If the body is bytes, it is sent as a file in a form.
        """
        if operation not in self.operations:
            raise WalkFailed(f"{operation} is not in the OpenAPI document of {self.root}: correct tests/system/walk.")
        response, content, media_type = self.send(operation, body, query, path)
        if response != status if status else not 200 <= response < 300:
            raise WalkFailed(f"{operation} returned {response}: {content[:1000]!r}")
        self.called.add(operation)
        is_json = content and "json" in media_type
        answer = json.loads(content) if is_json else content.decode() if media_type.startswith("text/") else ""
        exchange = {"path": path, "query": query or {}, "request": body}
        if response < 300:
            self.exchanges[self.operations[operation]] = exchange
        else:
            self.exchanges.setdefault(self.operations[operation], exchange)
        return answer

    def send(
        self, operation: str, body: Any, query: dict[str, Any] | None, path: dict[str, Any]
    ) -> tuple[int, bytes, str]:
        """Call an operation without checks; return the status, the content, and the media type."""
        method, template = operation.split(" ", 1)
        address = re.sub(r"\{(\w+)\}", lambda name: quote(str(path[name[1]])), template)
        return self._send(method, address + (f"?{urlencode(query)}" if query else ""), body)

    def _send(self, method: str, address: str, body: Any) -> tuple[int, bytes, str]:
        """Send a request; return the status, the content, and the media type."""
        data, sent = None, self.headers
        if isinstance(body, bytes):
            data, sent = file_form(body), sent | {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
        elif body is not None:
            data, sent = json.dumps(body).encode(), sent | {"Content-Type": "application/json"}
        request = urllib.request.Request(self.root + address, data, sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=DEADLINE_SECONDS) as answer:
                return answer.status, answer.read(), answer.headers.get("Content-Type", "")
        except urllib.error.HTTPError as error:
            return error.code, error.read(), error.headers.get("Content-Type", "")

    def call_rest(self, names: re.Pattern[str] = ANY) -> None:
        """Call each remaining operation whose operationId matches, with the example of the OpenAPI document.

        Calls reads first, and deletions last.
        """
        for operation in sorted(self.operations.keys() - self.called, key=_order):
            if not names.match(self.operations[operation]):
                continue
            described = self.described[operation]
            needed = [parameter for parameter in described.get("parameters", ()) if parameter.get("required")]
            path = {parameter["name"]: parameter["example"] for parameter in needed if parameter["in"] == "path"}
            query = {parameter["name"]: parameter["example"] for parameter in needed if parameter["in"] == "query"}
            content = described.get("requestBody", {}).get("content", {})
            self.call(operation, content.get("application/json", {}).get("example"), query=query, **path)
