import json
import os
import secrets
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import transaction
from django.utils import timezone

from config.core.registration import declared
from config.ops.commands import JsonCommand
from identity.access.keys import create_api_key
from identity.models import ApiKey, User

CONSUMER, STAFF = "demo", "admin"


class Command(JsonCommand):
    """Creates demo data, and stores its passwords and key in `demo.json`, because the database stores only hashes.

    Later runs print the stored values, and scripts read the credentials and the address from the file.
    """

    help = "Create demo data once, and print how to log in. Development only."

    def run(self, **_options: Any) -> dict[str, Any]:
        if settings.PRODUCTION:
            raise CommandError("Demo data has known log-ins, so this command does not run in production.")
        path = Path(settings.VAR_DIR) / "demo.json"
        kept = json.loads(path.read_text()) if path.exists() else {}
        with transaction.atomic():
            result = self._seed(kept)
        _keep(path, result)
        return result

    def _seed(self, kept: dict[str, Any]) -> dict[str, Any]:
        now = timezone.now()
        consumer, password = _account(CONSUMER, kept.get("password"), staff=False)
        staff, staff_password = _account(STAFF, kept.get("staff_password"), staff=True)
        result = {"username": CONSUMER, "password": password, "user_id": consumer.pk}
        if ApiKey.objects.usable_at(now).filter(pk=kept.get("api_key_id", ""), owner=consumer).exists():
            result |= {name: kept[name] for name in ("api_key_id", "api_key", "api_secret")}
        else:
            ApiKey.objects.filter(owner=consumer, name="Demo").update(name_key=None)  # the plain key is lost
            issued = create_api_key(owner=consumer, name="Demo", scopes=None, now=now)
            result |= {"api_key_id": issued.record.pk, "api_key": issued.key, "api_secret": issued.secret}
        result |= {"staff_username": STAFF, "staff_password": staff_password}
        result |= {"base_url": settings.BASE_URL, "ledger_url": settings.CHAIN_URL}
        for seed in declared("demo"):
            seed(consumer=consumer, staff=staff, now=now)
        return result


def _keep(path: Path, result: dict[str, Any]) -> None:
    """Write a file atomically, with access only for its owner."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_text(json.dumps(result))
    draft.replace(path)


def _account(username: str, password: str | None, *, staff: bool) -> tuple[User, str]:
    user = User.objects.filter(username=username).first() or User(username=username, is_staff=staff, is_superuser=staff)
    if password is None or not user.check_password(password):
        password = secrets.token_urlsafe(9)
        user.set_password(password)
        user.save()
    return user, password
