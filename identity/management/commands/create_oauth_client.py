from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction

from config.core import audit
from config.core.lifecycle import Actor, audit_actor
from config.core.names import NameTaken
from config.ops.commands import JsonCommand
from identity.oauth.clients import create_client


class Command(JsonCommand):
    help = "Create an OAuth client. Its name must not look like another client's name."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--redirect-uri", action="append", required=True, help="A redirect URI. Repeatable.")
        parser.add_argument(
            "--scope", action="append", required=True, help="A scope that the client can request. Repeatable."
        )
        parser.add_argument(
            "--public",
            action="store_true",
            help="Create a client without a secret, such as a mobile app or a web page. It must use PKCE.",
        )

    def run(self, **options: Any) -> dict[str, Any]:
        try:
            with transaction.atomic():
                client, secret = create_client(
                    name=options["name"],
                    redirect_uris=options["redirect_uri"],
                    scopes=options["scope"],
                    public=options["public"],
                )
                # The client belongs to no account, so the audit stream records it instead of an account's history.
                audit.emit(
                    "oauth_client.created",
                    actor=audit_actor(Actor.system("create_oauth_client")),
                    entity=audit.entity("oauth_client", client.client_id),
                )
        except NameTaken as error:
            raise CommandError(
                f"An OAuth client has the name {options['name']}, or a name that looks like it."
            ) from error
        return {
            "client_id": client.client_id,
            "client_secret": secret,
            "redirect_uris": client.redirect_uris.split(),
            "scopes": client.scopes,
        }
