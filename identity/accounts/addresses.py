from allauth.account.models import EmailAddress
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from config.core.errors import ValidationFailed
from identity.models import User

ADDRESS_MAX = 254  # RFC 5321, with its path's brackets taken off


def check_address(email: str) -> None:
    """Return an address as `normalize` does; raises ValidationFailed for an invalid email address."""
    try:
        validate_email(email)
    except ValidationError as error:
        raise ValidationFailed.of_member("email", "Enter a valid e-mail address.") from error


def is_named(user: User, email: str) -> bool:
    return bool(user.email) and user.email.casefold() == email.strip().casefold()


def owns(user: User, email: str) -> bool:
    """Say whether somebody has shown that they read mail at an address."""
    return bool(EmailAddress.objects.filter(user=user, email__iexact=email.strip(), verified=True).exists())


def confirm(user: User, email: str) -> None:
    """Keep an address whose mail somebody has read, unless another account has it."""
    email = email.strip().lower()
    is_known = EmailAddress.objects.filter(email=email).exclude(user=user).exists()
    if not is_known and not User.objects.filter(email__iexact=email).exclude(pk=user.pk).exists():
        EmailAddress.objects.update_or_create(user=user, email=email, defaults={"verified": True, "primary": True})
        user.email = email
        user.save(update_fields=["email"])
