"""The log-in with a password, for the pages and for `POST /v1/auth/token`."""

import unicodedata
from contextlib import suppress
from typing import Any

from django.contrib.auth import authenticate
from django.db.models import Value
from django.db.models.functions import Lower
from django.http import HttpRequest

from config.core.proxies import client_address
from identity.access.log_ins import login_attempt
from identity.access.models import User
from identity.access.second_factor import any_has_one
from identity.access.staff import may_use_password, note_password_log_in
from identity.accounts.codes import is_right, use_code


class WrongCredentials(Exception):
    """Marks the attempt in `login_attempt` as failed."""


def log_in(
    request: HttpRequest,
    *,
    name: str,
    username: str,
    password: str,
    code: str | None = None,
    has_code_step: bool = False,
    device: str | None = None,
) -> User | None:
    """Return the account for a user name and a password.

    Returns None if the user name, the password, or the code is wrong.

    An account with an authenticator requires a correct `code`. With `has_code_step`, the caller must require the code
    before it grants access. All attempts do the same work, so the code is compared even if the password is wrong.
    `name` is the typed name, which the limits count. Raises RateLimited. Raises Unavailable if too many log-ins are in
    progress.
    """
    account = {"user__username__lower": Lower(Value(username)), "user__is_active": True}

    def shows_code() -> bool:
        return code is not None and is_right(code, **account)

    with suppress(WrongCredentials), login_attempt(name, client_address(request), device=device, shows_code=shows_code):
        needs_code = code is not None or (any_has_one(**account) and not has_code_step)
        is_code_right = shows_code()
        user: Any = authenticate(request, username=username, password=password)
        if user is None or not may_use_password(user):
            # `User.check_password` hashes some passwords twice, so an unknown name must also cause two hashes.
            if unicodedata.normalize("NFKC", password) != password and not User.objects.named(username).exists():
                User().set_password(password)
            raise WrongCredentials
        if needs_code and not (is_code_right and code is not None and use_code(user, code)):
            raise WrongCredentials
        note_password_log_in(user)
        return user if isinstance(user, User) else None
    return None
