import unicodedata
from typing import Any

from django.conf import settings
from django.contrib.auth.password_validation import MinimumLengthValidator
from django.core.exceptions import ValidationError
from django.utils.translation import gettext

PASSWORD_MIN, PASSWORD_MAX = 10, 4_096


class LengthValidator(MinimumLengthValidator):
    """Requires PASSWORD_MIN characters, also in NFKC form, and rejects too long or invalid passwords."""

    def __init__(self) -> None:
        super().__init__(PASSWORD_MIN)

    def validate(self, password: str, user: Any = None) -> None:
        # NFKC can shorten a password, and can expand a ligature to a long text.
        super().validate(min(password, unicodedata.normalize("NFKC", password), key=len), user)
        if len(password) > PASSWORD_MAX:
            raise ValidationError(
                gettext("This password is too long. Use at most %(number)s characters.") % {"number": PASSWORD_MAX}
            )
        if "\0" in password or any("\ud800" <= character <= "\udfff" for character in password):
            raise ValidationError(gettext("A password must not contain a NUL or half of a surrogate pair."))


class OwnNameValidator:
    """Rejects a password that consists mainly of this installation's name, because attackers try it first."""

    OTHERS_MIN = 6  # this number of characters must remain after the names are removed

    def validate(self, password: str, user: Any = None) -> None:  # noqa: ARG002  Django's signature
        left = password.lower()
        names = f"{settings.PROVIDER_NAME} {settings.PROVIDER_ID.replace('-', ' ')}".lower()
        for word in sorted({word for word in names.split() if len(word) > 2}, key=len, reverse=True):
            left = left.replace(word, "")
        if left != password.lower() and len(left) < self.OTHERS_MIN:
            raise ValidationError(self.get_help_text(), code="password_own_name")

    def get_help_text(self) -> str:
        return gettext("Your password must not be similar to our name.")
