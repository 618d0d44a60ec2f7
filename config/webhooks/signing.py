"""Pure functions that sign deliveries in two schemes.

`X-Service-Signature` (specification section 6) is the HMAC-SHA256 of the body in lowercase hex, with the text of the
secret as key. The Standard Webhooks headers sign `id.timestamp.body` with the decoded secret. During a rotation,
`webhook-signature` contains several signatures.
"""

import base64
import hmac
import secrets as random_source
from collections.abc import Sequence

SECRET_PREFIX = "whsec_"  # noqa: S105  a prefix, not a secret


def new_secret() -> str:
    return SECRET_PREFIX + base64.b64encode(random_source.token_bytes(32)).decode()


def service_signature(secret: str, body: bytes) -> str:
    return hmac.digest(secret.encode(), body, "sha256").hex()


def standard_signature(secret: str, *, message_id: str, timestamp: int, body: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = b"%s.%d.%s" % (message_id.encode(), timestamp, body)
    return "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()


def signature_headers(
    *, message_id: str, timestamp: int, body: bytes, header_secret: str, live_secrets: Sequence[str]
) -> dict[str, str]:
    """Return the signature headers.

    `header_secret` signs X-Service-Signature, and all `live_secrets` sign webhook-signature.
    """
    signatures = (
        standard_signature(secret, message_id=message_id, timestamp=timestamp, body=body) for secret in live_secrets
    )
    return {
        "X-Service-Signature": service_signature(header_secret, body),
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signatures),
    }
