from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import CommandError
from django.utils import timezone

from config.clients.addresses import AddressRefused, read_url
from config.clients.pinned import AttemptFailed, Channel
from config.core.ids import first_or, parse_positive_int64
from config.core.json_text import render_json
from config.core.outgoing import Address, resolve_by_system
from config.ops.commands import WorkerCommand
from config.webhooks.models import EventFeed
from config.webhooks.publishing import feed_page, publish_account
from config.webhooks.signing import new_secret, signature_headers


class Command(WorkerCommand):
    help = "Print an account's events, and forward them with a signature, until stopped. Development only."
    idle_seconds = 0.5
    takes_a_part = True

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--account", required=True, metavar="USERNAME")
        parser.add_argument(
            "--forward-to",
            metavar="URL",
            help="The URL that receives each event. Without it, the command only prints events.",
        )
        parser.add_argument("--allow-remote", action="store_true", help="Also allow the URL of another machine.")
        parser.add_argument(
            "--after",
            metavar="SEQUENCE",
            help="Start after the event with this number; 0 for all events. Default: the newest event.",
        )
        parser.add_argument("--once", action="store_true", help="Exit after all existing events.")

    def run(self, **options: Any) -> dict[str, Any]:
        if settings.PRODUCTION:
            raise CommandError("This command is for development. In production, use webhook endpoints.")
        named = get_user_model().objects.filter(username__iexact=options["account"])
        self._account_id = first_or(named, CommandError(f"Account {options['account']!r} not found.")).pk
        self._allow_remote, self._secret = options["allow_remote"], new_secret()
        self._channel = None if options["forward_to"] is None else self._open(options["forward_to"])
        self._told_to = self._after(options["after"])
        return super().run(**options)

    def work(self, *, now: datetime) -> dict[str, int]:
        """Print the next event, and the result of forwarding it."""
        done = {"events": 0, "accepted": 0, "failed": 0}
        for event in feed_page(account_id=self._account_id, after=self._told_to, limit=1, now=now)[0]:
            self._told_to = event["sequence"]
            shown = render_json(event["data"]["object"]).decode()
            line = f"{event['created_at']:%H:%M:%S} {event['type']} {event['id']} {shown}"
            done["events"] = 1
            if self._channel is not None:
                answer = self._send(self._channel, render_json(event), event_id=event["id"], now=now)
                done["accepted" if answer.startswith("2") else "failed"] = 1
                line += f" -> {answer}"
            self._print(line)
        return done

    def _open(self, url: str) -> Channel:
        """Return a channel to a URL of this machine, or with --allow-remote to any URL. Events are private."""
        more = "" if self._allow_remote else " Use --allow-remote for another machine."
        try:
            target = read_url(url, allow_private=True)
        except AddressRefused as refusal:
            raise CommandError(f"--forward-to {url!r}: {refusal}{more}") from refusal
        if not self._allow_remote and not (
            target.literal.is_loopback if target.literal else self._resolve(target.host)
        ):
            text = "Must be a URL of this machine, such as http://127.0.0.1:3000/hook."
            raise CommandError(f"--forward-to {url!r}: {text}{more}")
        self._print(f"Signed with {self._secret} until this command ends.")
        return Channel(url, resolve=self._resolve, allow_private=True)

    def _send(self, channel: Channel, body: bytes, *, event_id: str, now: datetime) -> str:
        """Sign and send an event. Return the status of the response, or the kind of failure."""
        signed = signature_headers(
            message_id=event_id,
            timestamp=int(now.timestamp()),
            body=body,
            header_secret=self._secret,
            live_secrets=[self._secret],
        )
        headers = {"Content-Type": "application/json", "User-Agent": f"webhooks/{settings.API_VERSION}"}
        try:
            return str(channel.post(body, headers | signed, seconds=10.0).status)
        except AttemptFailed as failure:
            return failure.word

    def _resolve(self, host: str) -> list[Address]:
        """Return the allowed addresses of a host name. The channel connects only to these addresses."""
        try:
            addresses = resolve_by_system(host)
        except (OSError, UnicodeError):
            return []
        return addresses if self._allow_remote else [address for address in addresses if address.is_loopback]

    def _after(self, text: str | None) -> int:
        if text is None:
            publish_account(self._account_id, now=timezone.now())
            feed = EventFeed.objects.filter(pk=self._account_id).first()
            return 0 if feed is None else feed.last_sequence
        number = 0 if text == "0" else parse_positive_int64(text)
        if number is None:
            raise CommandError(f"--after {text!r} is not the number of an event.")
        return number

    def _print(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()  # a pipe would delay the line
