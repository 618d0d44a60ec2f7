"""The API client of the tests, and the required form of every response."""

import json
import uuid
from typing import Any

from django.test import Client
from django.utils import timezone

from identity.access import tokens

V1 = "/v1"
ERROR_MEMBERS = {"error", "message", "code", "request_id", "doc_url"}


class ApiClient(Client):
    """Django's test client, sending JSON as an account; an exception becomes a 500 response, as for a real caller.

    Paths are relative to `/v1`. `bearer` and `api_key` are sent with every request, unless a request's own headers
    replace them.
    """

    def __init__(self, *, bearer: str = "", api_key: str = "", **defaults: Any) -> None:
        super().__init__(raise_request_exception=False, **defaults)
        self.credentials = {}
        if bearer:
            self.credentials["Authorization"] = f"Bearer {bearer}"
        if api_key:
            self.credentials["X-API-Key"] = api_key

    def call(
        self, method: str, path: str, body: Any = None, *, key: Any = None, raw: Any = None, **headers: Any
    ) -> Any:
        """Send a request. `body` is sent as JSON, `raw` unchanged. `key` is the Idempotency-Key (True: a new key).

        Headers are keyword arguments with underscores: `content_type="text/plain"`.
        """
        sent = {**self.credentials, **{name.replace("_", "-"): value for name, value in headers.items()}}
        content_type = str(sent.pop("content-type", "application/json"))
        sent = {name: value for name, value in sent.items() if value is not None}
        if key is not None:
            sent["Idempotency-Key"] = str(uuid.uuid4() if key is True else key)
        data = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        address = path if path.startswith(("/v1/", "/.well-known", "/admin", "http")) else f"{V1}{path}"
        return self.generic(method, address, data, content_type=content_type, headers=sent)

    def read(self, path: str, **headers: Any) -> Any:
        """GET a path."""
        return self.call("GET", path, **headers)

    def send(self, path: str, body: Any = None, **options: Any) -> Any:
        """POST a body."""
        return self.call("POST", path, body, **options)

    def replace(self, path: str, body: Any = None, **options: Any) -> Any:
        """PUT a body."""
        return self.call("PUT", path, body, **options)

    def remove(self, path: str, **options: Any) -> Any:
        """DELETE a path."""
        return self.call("DELETE", path, **options)


def bearer_of(user: Any) -> str:
    """Return an access token of a new log-in of `user`."""
    return tokens.start_family(user=user, now=timezone.now()).access_token


def client_of(user: Any) -> ApiClient:
    """Return a client that calls as `user`, with a first-party token."""
    return ApiClient(bearer=bearer_of(user))


def assert_error(response: Any, status: int, code: str) -> dict[str, Any]:
    """Check that an error body has every field of specification section 7; return the body."""
    assert response.headers["Content-Type"] == "application/json", response.content
    body: dict[str, Any] = response.json()
    assert (response.status_code, body["code"]) == (status, code), body
    assert set(body) - {"details"} == ERROR_MEMBERS
    assert body["error"]
    assert body["message"]
    if response.headers.get("Idempotent-Replayed") != "true":
        assert body["request_id"] == response.headers["X-Request-Id"]
    if status == 401:
        assert response.headers["WWW-Authenticate"]
    return body
