"""Forwarding an account's events to a developer's own machine, without an endpoint."""

from datetime import datetime

from django.conf import settings

from config.clients.addresses import Address, AddressRefused, read_url, resolve_by_system
from config.clients.pinned import AttemptFailed, Channel
from config.webhooks.models import EventFeed
from config.webhooks.publishing import publish_account
from config.webhooks.signing import signature_headers

FORWARD_SECONDS = 10.0


def newest_sequence(account_id: int, *, now: datetime) -> int:
    """Return the number of the account's last event, 0 when there is none."""
    publish_account(account_id, now=now)
    return EventFeed.objects.filter(pk=account_id).values_list("last_sequence", flat=True).first() or 0


class Forward:
    """Sends events to one address, signed as deliveries are. Raises AddressRefused for one that is none.

    Unless `allow_remote`, it must lead to this machine: what happens in an account is nobody else's business.
    """

    def __init__(self, url: str, *, secret: str, allow_remote: bool) -> None:
        target = read_url(url, allow_private=True)
        self._secret, self._allow_remote = secret, allow_remote
        if not allow_remote and not (target.literal.is_loopback if target.literal else self._resolve(target.host)):
            raise AddressRefused("blocked_address", "Must lead to this machine, such as http://127.0.0.1:3000/hook.")
        self._channel = Channel(url, resolve=self._resolve, allow_private=True)

    def send(self, body: bytes, *, event_id: str, now: datetime) -> str:
        """Send an event once; return the status of the answer, or a word for why there is none."""
        signed = signature_headers(
            message_id=event_id,
            timestamp=int(now.timestamp()),
            body=body,
            header_secret=self._secret,
            live_secrets=[self._secret],
        )
        ours = {"Content-Type": "application/json", "User-Agent": f"webhooks/{settings.API_VERSION}"}
        try:
            return str(self._channel.post(body, ours | signed, seconds=FORWARD_SECONDS).status)
        except AttemptFailed as failure:
            return failure.word

    def _resolve(self, host: str) -> list[Address]:
        """Return the addresses of a name that may be sent to; asked again for each connection, so it cannot move."""
        try:
            found = resolve_by_system(host)
        except (OSError, UnicodeError):
            return []
        return found if self._allow_remote else [address for address in found if address.is_loopback]
