"""Finding accounts for commands."""

from django.core.management.base import CommandError

from identity.models import ApiKey, User


def find_user(username: str) -> User:
    """Return the account of that name; raises CommandError when there is none."""
    user = User.objects.filter(username=username).first()
    if user is None:
        raise CommandError(f"There is no account named {username}.")
    return user


def find_api_key(identifier: str) -> ApiKey:
    """Return the key with that public id; raises CommandError when there is none."""
    key = ApiKey.objects.select_related("owner").filter(pk=identifier).first()
    if key is None:
        raise CommandError(f"There is no API key with the id {identifier}.")
    return key
