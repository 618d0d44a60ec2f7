"""An API key class as in the guides of REST framework.

It is a separate module, because the settings refer to it before views can be imported.
"""

import hashlib
import hmac
import time
from datetime import timedelta

from django.utils import timezone
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication

from identity.models import ApiKey


class ApiKeyAuthentication(BaseAuthentication):
    """Accepts `X-API-Key`, or the key as a bearer token with a signature. Looks the key up in each request."""

    def authenticate(self, request):
        """Return the key's owner and the key."""
        text = request.headers.get("X-API-Key")
        signed = text is None
        if signed:
            scheme, _, text = request.headers.get("Authorization", "").partition(" ")
            if scheme != "Bearer" or not text.startswith("ck_test_"):
                return None
        digest = hashlib.sha256(text.encode()).hexdigest()
        try:
            key = ApiKey.objects.select_related("owner").get(pk=text[8:20], digest=digest)
        except ApiKey.DoesNotExist as error:
            raise exceptions.AuthenticationFailed("The API key is unknown.") from error
        now = timezone.now()
        if key.revoked_at is not None or key.expires_at <= now or not key.owner.is_active:
            raise exceptions.AuthenticationFailed("The API key has expired or was revoked.")
        if signed:
            self.check_signature(request, key.secret)
        if key.last_used_at is None or now - key.last_used_at > timedelta(minutes=1):
            key.last_used_at = now
            key.save(update_fields=["last_used_at"])
        return key.owner, key

    def check_signature(self, request, secret):
        """Check the age of the timestamp, and the HMAC over timestamp, method, path, and body."""
        timestamp = request.headers.get("X-Service-Timestamp", "")
        if not timestamp.isdigit() or abs(time.time() - int(timestamp)) > 300:
            raise exceptions.AuthenticationFailed("The timestamp is out of range.")
        message = f"{timestamp}{request.method}{request.get_full_path()}".encode() + request.body
        expected = hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(expected, request.headers.get("X-Service-Signature", "")):
            raise exceptions.AuthenticationFailed("The signature does not match.")
