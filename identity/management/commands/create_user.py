"""Make an account."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.db import transaction

from config.api.commands import JsonCommand
from identity.models import User


class Command(JsonCommand):
    """Make an account, or say that it is there already."""

    help = "Make an account. Run again with the same name it changes nothing and prints the account's id."

    def arguments(self, parser: ArgumentParser) -> None:
        """Take the name, the password and what the account is."""
        parser.add_argument("username")
        parser.add_argument("--password", required=True)
        parser.add_argument("--email", default="")
        parser.add_argument("--staff", action="store_true", help="May log in to the admin.")
        parser.add_argument("--superuser", action="store_true", help="May do everything in the admin.")
        parser.add_argument("--group", action="append", default=[], help="Reviewer, Support or Operations.")

    def run(self, **options: Any) -> dict[str, Any]:
        """Make the account in one transaction."""
        groups = list(Group.objects.filter(name__in=options["group"]))
        missing = set(options["group"]) - {group.name for group in groups}
        if missing:
            raise CommandError(f"No such group: {', '.join(sorted(missing))}.")
        existing = User.objects.filter(username=options["username"]).first()
        if existing is not None:
            return {"id": existing.pk, "username": existing.username, "created": False}
        staff = options["staff"] or options["superuser"]
        user = User(
            username=options["username"],
            email=options["email"],
            is_staff=staff,
            is_superuser=options["superuser"],
        )
        user.set_password(options["password"])
        try:
            user.full_clean(exclude=["password"])
        except ValidationError as error:
            raise CommandError("; ".join(error.messages)) from error
        with transaction.atomic():
            user.save()
            user.groups.set(groups)
        return {"id": user.pk, "username": user.username, "created": True}
