"""Rules for user names. Other users see these names, so a name must not resemble another name."""

import re
from typing import Any

from django.core import checks
from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from config.core.names import listed
from identity.access.models import AccountHistory, User

_CHOSEN = re.compile(r"[A-Za-z0-9]+", re.ASCII)
# Sign-ups without a user name, and accounts that partners create, have a generated user name.
_GENERATED = re.compile(r"u[0-9a-f]{16}|managed-[0-9a-f-]{36}", re.ASCII)
_OF_OPERATORS = re.compile(r"[A-Za-z0-9._-]+", re.ASCII)
# A user with one of these names could be mistaken for the installation, its staff, or its systems.
RESERVED = frozenset(
    """
    abuse account admin administrator anonymous api billing compliance contact everyone help hostmaster info legal mail
    managed moderator nobody noreply null operations operator owner partner platform postmaster privacy reviewer root
    sandbox security service staff superuser support system test undefined user webmaster www
    """.split()  # noqa: SIM905  more readable than a list
)


def is_generated(name: str) -> bool:
    return _GENERATED.fullmatch(name) is not None


def check_chosen(name: str) -> None:
    if not _CHOSEN.fullmatch(name):
        raise ValidationError(gettext("A user name must contain only the letters A to Z, a to z, and digits."))
    _check_shape(name)
    if name.lower() in RESERVED:
        raise ValidationError(gettext("The user name %(name)s is reserved. Choose another name.") % {"name": name})


def check_of_operator(name: str, account: User | None = None) -> None:
    """Raise ValidationError if an operator can't set this user name for `account`, or for a new account if None.

    Operators can also use `.`, `-`, `_`, and the reserved names.
    """
    if not _OF_OPERATORS.fullmatch(name):
        raise ValidationError("A user name must contain only the letters A to Z, a to z, digits, '.', '-' and '_'.")
    _check_shape(name, account)


def _check_shape(name: str, account: User | None = None) -> None:
    if name.isdigit():
        raise ValidationError(gettext("A user name must not consist of digits only."))
    bearers = User.objects.named(name)
    if account is not None:
        bearers = bearers.exclude(pk=account.pk)
    if bearers.exists():
        raise ValidationError(gettext("An account with this user name exists. Upper and lower case are the same."))


def check_user_names(**_options: Any) -> list[checks.CheckMessage]:
    """List the accounts that the migration to version 1.1 renamed and that still have the new name."""
    renamed = AccountHistory.objects.filter(action="account.renamed", credential="migration").select_related("account")
    names = [
        f"{row.details['from']} is now {row.details['to']} (account {row.account_id})"
        for row in renamed.order_by("pk")
        if row.account.username == row.details["to"]
    ]
    if not names:
        return [checks.Info("each is unique, regardless of upper and lower case")]
    return [
        checks.Warning(
            "These user names differed from another user name only in upper and lower case, so they were changed: "
            f"{listed(names)}. Notify their owners."
        )
    ]
