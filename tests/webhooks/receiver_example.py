"""The receiver that README shows to consumers, as it stands there."""

import hmac

from standardwebhooks import Webhook, WebhookVerificationError


def accept(secret: str, headers: dict[str, str], body: bytes) -> int:
    """Return the status to answer with: 200 for a delivery that is ours and fresh, 401 for anything else."""
    ours = hmac.new(secret.encode(), body, "sha256").hexdigest()
    if not hmac.compare_digest(ours.encode(), headers.get("X-Service-Signature", "").encode()):
        return 401
    try:
        Webhook(secret).verify(body, headers)  # also refuses a timestamp that is more than five minutes off
    except (WebhookVerificationError, ValueError):
        return 401
    return 200  # now: have we had this webhook-id before? If not, remember it with what it changes.
