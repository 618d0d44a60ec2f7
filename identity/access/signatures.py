"""Signed requests: HMAC-SHA256 over timestamp + method + path + body (specification section 5, item 3).

The concatenation has no separators. It is unambiguous: a body must be empty or begin with `{`, and a path has no `{`.
"""

import hashlib
import hmac
import re
import time
from datetime import timedelta
from uuid import UUID

from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils import timezone

from config.core import credentials
from config.core.digest import digest_of
from config.core.errors import MalformedJSON
from config.core.json_bodies import read_body
from identity.access.models import UsedSignature

_TOLERANCE_SECONDS = credentials.SIGNATURE_TOLERANCE_SECONDS
REPLAY_WINDOW_SECONDS = 2 * _TOLERANCE_SECONDS  # a timestamp may be before or after the server's time

_TIMESTAMP = re.compile(r"[0-9]{10}", re.ASCII)
_SIGNATURE = re.compile(r"[0-9a-f]{64}", re.ASCII)


def sign(secret: str, *, timestamp: str, method: str, path: str, body: bytes) -> str:
    message = f"{timestamp}{method}{path}".encode() + body
    return hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()


def verify_request(request: HttpRequest, secret: str) -> str:
    """Validate the signature headers of a request. Return the signature, which the caller passes to `use_once`.

    Raises TimestampOutOfRange and InvalidSignature. Raises MalformedJSON for a body that could be part of a path.
    """
    meta = request.META
    if "HTTP_X_SERVICE_SIGNATURE" not in meta:
        raise credentials.InvalidSignature(
            "A request with an API key as bearer token must be signed. Send X-Service-Timestamp and "
            "X-Service-Signature. Without a signature, send the key as X-API-Key."
        )
    timestamp = meta.get("HTTP_X_SERVICE_TIMESTAMP", "")
    if not _TIMESTAMP.fullmatch(timestamp) or abs(time.time() - int(timestamp)) > _TOLERANCE_SECONDS:
        raise credentials.TimestampOutOfRange
    signature: str = meta["HTTP_X_SERVICE_SIGNATURE"]
    if not _SIGNATURE.fullmatch(signature):
        raise credentials.InvalidSignature
    target = str(meta.get("RAW_URI") or request.get_full_path())
    body = read_body(request)
    if body and not body.startswith(b"{"):
        raise MalformedJSON("The body of a signed request must begin with {.")
    if "{" in target or not target.startswith("/"):
        raise credentials.InvalidSignature
    method = request.method or ""
    # The signature of a safe request may omit the query string.
    paths = {target, target.partition("?")[0]} if method in credentials.SAFE_METHODS else {target}
    for path in paths:
        if hmac.compare_digest(sign(secret, timestamp=timestamp, method=method, path=path, body=body), signature):
            return signature
    raise credentials.InvalidSignature


def use_once(signature: str, *, idempotency_key: UUID | None) -> None:
    """Store a signature. Raises SignatureReplayed if the signature is already stored.

    A retry with the same Idempotency-Key is accepted, because the operation runs once per key. A different key is
    rejected: the header is not signed, so an attacker could replay a captured request with a new key. The signature is
    committed separately, so it remains used if the request fails later.
    """
    expires_at = timezone.now() + timedelta(seconds=REPLAY_WINDOW_SECONDS)
    digest = digest_of(signature)
    try:
        with transaction.atomic():
            UsedSignature.objects.create(digest=digest, idempotency_key=idempotency_key, expires_at=expires_at)
    except IntegrityError as error:
        # If a concurrent request has the same signature, the INSERT waits for that request. The row of that request
        # contains its Idempotency-Key.
        same_key = UsedSignature.objects.filter(digest=digest, idempotency_key=idempotency_key)
        if idempotency_key is None or not same_key.exists():
            raise credentials.SignatureReplayed from error
