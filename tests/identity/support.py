"""Share helpers between the tests of credentials."""

import time
from types import SimpleNamespace
from uuid import uuid4

from django.utils import timezone

from identity.access import signatures
from identity.access.keys import create_api_key
from tests.api import ApiClient


def issue(user, *, scopes=None, **options):
    name = f"test {uuid4()}" if user.api_keys.exists() else "test"
    return create_api_key(owner=user, name=name, scopes=scopes, now=timezone.now(), **options)


def signature_headers(issued, method, path, body=b"", *, at=None, **changes):
    """Return the headers of a signed request with an API key; `changes` replaces some of them."""
    timestamp = str(int(time.time())) if at is None else str(at)
    signature = signatures.sign(issued.secret, timestamp=timestamp, method=method, path=path, body=body)
    return {
        "Authorization": f"Bearer {issued.key}", "X-Service-Timestamp": timestamp, "X-Service-Signature": signature,
        **changes,
    }  # fmt: skip


def signed_call(issued, method, path, body=b"", *, sent=None, sent_body=None, key=None, **changes):
    """Sign `method path body`, then send it; `sent` and `sent_body` replace the path and body that are sent."""
    headers = signature_headers(issued, method, path, body, **changes)
    return ApiClient().call(method, sent or path, raw=body if sent_body is None else sent_body, key=key, **headers)


def move_clock(monkeypatch, module, seconds):
    """Move the clock of a single module `seconds` ahead; other modules use the real time."""
    ahead = SimpleNamespace(time=lambda: time.time() + seconds, monotonic=lambda: time.monotonic() + seconds)
    monkeypatch.setattr(f"{module}.time", ahead)


def stop_clock(monkeypatch, module, moment):
    """Stop the clock of a single module."""
    monkeypatch.setattr(f"{module}.time", SimpleNamespace(time=lambda: moment, monotonic=lambda: moment))
