import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from datetime import datetime
from getpass import getpass
from typing import Any

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.management.base import CommandError

from config.core.ids import first_or
from config.core.lifecycle import Actor
from identity.access.models import AccountHistory, ApiKey, User


def find_user(username: str) -> User:
    return first_or(User.objects.named(username), CommandError(f"Account {username} not found."))


def find_api_key(identifier: str) -> ApiKey:
    return first_or(
        ApiKey.objects.select_related("owner").filter(pk=identifier), CommandError(f"API key {identifier} not found.")
    )


def note_by_command(command: str, action: str, *, account_id: int, now: datetime, **facts: Any) -> None:
    """Write an account history entry for a command. `facts` are further arguments of `AccountHistory.note`."""
    AccountHistory.note(action, Actor.system(command), account_id=account_id, now=now, **facts)


def add_password_arguments(parser: ArgumentParser) -> None:
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--password", help="Not allowed in production, where other users can read command lines.")
    source.add_argument("--password-stdin", action="store_true", help="Read one line of standard input.")


def take_password(options: Mapping[str, Any], user: User) -> str:
    """Return the password from the options or the prompt.

    Raises CommandError, or ValidationError if the password is too weak.
    """
    if options["password"] is not None:
        if settings.PRODUCTION:
            raise CommandError("--password is visible in the list of processes. Use --password-stdin in production.")
        password = options["password"]
    elif options["password_stdin"]:
        password = sys.stdin.readline().rstrip("\r\n")
    elif sys.stdin.isatty():
        password = getpass("Password: ")
        if getpass("Password, again: ") != password:
            raise CommandError("The passwords differ. Nothing was changed.")
    else:
        raise CommandError("Without a terminal, send the password with --password-stdin.")
    validate_password(password, user=user)
    return str(password)
