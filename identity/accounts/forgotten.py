"""The mail for a forgotten password. The mail worker looks up the address: the request that queues it does not."""

from typing import Any

from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from django.conf import settings
from django.urls import reverse

from identity.accounts.addresses import accounts_with

TEMPLATE = "forgotten_password"


def make_mail(recipient: str) -> tuple[str, dict[str, Any]]:
    """Return template and context: a link for a new password, or that no account has this address."""
    users = accounts_with(recipient.lower())
    if not users:
        return "has_no_account", {"link": f"{settings.APP_URL}{reverse('account_signup')}"}
    key = {"uidb36": user_pk_to_url_str(users[0]), "key": default_token_generator.make_token(users[0])}
    return "new_password", {"link": f"{settings.APP_URL}{reverse('account_reset_password_from_key', kwargs=key)}"}


MAIL_MAKERS = {TEMPLATE: make_mail}
