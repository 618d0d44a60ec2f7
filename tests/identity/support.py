"""What the tests of credentials share."""

import time
from types import SimpleNamespace
from uuid import uuid4

from django.utils import timezone

from identity.access import signatures
from identity.access.keys import create_api_key
from tests.api import ApiClient


def issue(user, *, scopes=None, **options):
    """Make an API key of `user`."""
    name = f"test {uuid4()}" if user.api_keys.exists() else "test"
    return create_api_key(owner=user, name=name, scopes=scopes, now=timezone.now(), **options)


def signature_headers(issued, method, path, body=b"", *, at=None, **changes):
    """Return the headers of a signed request with an API key; `changes` replace some of them."""
    timestamp = str(int(time.time())) if at is None else str(at)
    signature = signatures.sign(issued.secret, timestamp=timestamp, method=method, path=path, body=body)
    return {
        "Authorization": f"Bearer {issued.key}", "X-Service-Timestamp": timestamp, "X-Service-Signature": signature,
        **changes,
    }  # fmt: skip


def signed_call(issued, method, path, body=b"", *, sent=None, sent_body=None, key=None, **changes):
    """Sign `method path body` and send it, or `sent` and `sent_body` in their place."""
    headers = signature_headers(issued, method, path, body, **changes)
    return ApiClient().call(method, sent or path, raw=body if sent_body is None else sent_body, key=key, **headers)


def move_clock(monkeypatch, module, seconds):
    """Let one module see a clock that is `seconds` ahead, and every other module the real one."""
    ahead = SimpleNamespace(time=lambda: time.time() + seconds, monotonic=lambda: time.monotonic() + seconds)
    monkeypatch.setattr(f"{module}.time", ahead)


def stop_clock(monkeypatch, module, moment):
    """Let one module see a clock that stands still."""
    monkeypatch.setattr(f"{module}.time", SimpleNamespace(time=lambda: moment, monotonic=lambda: moment))
