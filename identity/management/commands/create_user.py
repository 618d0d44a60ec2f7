from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import Group
from django.core.management.base import CommandError
from django.db import transaction
from django.utils import timezone

from config.ops.commands import JsonCommand
from identity.access.accounts import add_password_arguments, note_by_command, take_password
from identity.accounts.addresses import is_named
from identity.accounts.names import check_of_operator
from identity.models import User


class Command(JsonCommand):
    help = "Create an account, and print its id. Idempotent with the same name and password."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", help="The user name: letters A to Z, digits, '.', '-', and '_'.")
        add_password_arguments(parser)
        parser.add_argument("--email", default="")
        parser.add_argument("--staff", action="store_true", help="Allow log-ins to the back office.")
        parser.add_argument("--superuser", action="store_true", help="Allow every action in the back office.")
        parser.add_argument(
            "--group",
            action="append",
            default=[],
            help="The group: Reviewer, Support, Operations, Lender, or Partner. Repeatable.",
        )

    def run(self, **options: Any) -> dict[str, Any]:
        groups = list(Group.objects.filter(name__in=options["group"]))
        missing = set(options["group"]) - {group.name for group in groups}
        if missing:
            raise CommandError(f"No such group: {', '.join(sorted(missing))}.")
        user = User(
            username=options["username"],
            email=options["email"],
            is_staff=options["staff"] or options["superuser"],
            is_superuser=options["superuser"],
        )
        password = take_password(options, user)
        existing = User.objects.named(user.username).first()
        if existing is not None:
            _check_same(existing, user, password, groups)
            return {"id": existing.pk, "username": existing.username, "created": False}
        check_of_operator(user.username)
        user.set_password(password)
        user.full_clean(exclude=["password"])
        with transaction.atomic():
            user.save()
            user.groups.set(groups)
            note_by_command("create_user", "account.created", account_id=user.pk, now=timezone.now())
        return {"id": user.pk, "username": user.username, "created": True}


def _check_same(existing: User, wanted: User, password: str, groups: list[Group]) -> None:
    """Raise CommandError if the existing account lacks a value that the options specify.

    The account may have further groups and rights.
    """
    differs = {
        "password": not existing.check_password(password),
        "email": bool(wanted.email) and not is_named(existing, wanted.email),
        "--staff": wanted.is_staff and not existing.is_staff,
        "--superuser": wanted.is_superuser and not existing.is_superuser,
        "groups": not {group.pk for group in groups} <= set(existing.groups.values_list("pk", flat=True)),
    }
    if any(differs.values()):
        named = ", ".join(name for name, is_other in differs.items() if is_other)
        raise CommandError(
            f"The account {existing.username} already exists, with other values of: {named}. Nothing was changed."
        )
