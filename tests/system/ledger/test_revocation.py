"""The ledger rejects a token 5 s after its revocation at a real platform."""

import pytest
from django.utils import timezone

from config.core.credentials import InvalidToken
from config.core.errors import Unavailable
from identity.access import tokens
from identity.models import User
from ledger import service_a
from ledger.credentials import identify
from tests.factories import UserFactory
from tests.system.authority import private_server

pytestmark = pytest.mark.usefixtures("committed")


@pytest.fixture
def clock(monkeypatch):
    """Replace `time.monotonic` in both services, and return a list with the time. Tests advance this value."""
    from identity.access import authentication

    now = [1_000_000.0]
    for module in (authentication, service_a):
        monkeypatch.setattr(module, "time", _Clock(module.time, now))
    return now


class _Clock:
    def __init__(self, real, now):
        self.time, self.monotonic = real.time, lambda: now[0]


@pytest.fixture
def log_in(live_server, settings, monkeypatch, clock):
    """A function that logs in a user at a running platform, and returns the tokens."""
    settings.BASE_URL = f"{live_server.url}/v1"
    monkeypatch.setattr(service_a, "published_keys", service_a.PublishedKeys())
    monkeypatch.setattr(service_a, "introspection", service_a.Introspection())
    return lambda user: tokens.start_family(user=user, now=timezone.now())


def test_ledger_connects_to_a_platform_with_a_certificate_of_a_private_authority(settings, tmp_path):
    with private_server(tmp_path) as server:
        settings.BASE_URL = f"{server.address}/v1"
        for ca_file, paths in (("", []), (server.certificate, ["/.well-known/jwks.json"])):
            settings.PLATFORM_CA_FILE = ca_file
            with pytest.raises(Unavailable):
                service_a.PublishedKeys().find("any")
            assert server.paths == paths


def caller_of(pair):
    return identify({"HTTP_AUTHORIZATION": f"Bearer {pair.access_token}"})


def revoke(user, pair):
    tokens.revoke_refresh_token(pair.refresh_token, now=timezone.now())


def disable(user, pair):
    User.objects.filter(pk=user.pk).update(is_active=False)


def change_password(user, pair):
    User.objects.filter(pk=user.pk).update(credentials_changed_at=timezone.now())


@pytest.mark.parametrize("end", [revoke, disable, change_password])
def test_the_ledger_rejects_a_revoked_token_after_five_seconds(log_in, clock, end):
    user = UserFactory()
    pair = log_in(user)
    assert caller_of(pair).user_id == str(user.pk)
    end(user, pair)
    # The ledger sends its query just before the platform's cache expires. Together, both may cache for at most 5 s.
    clock[0] += 2.9
    assert caller_of(pair).user_id == str(user.pk)
    clock[0] += 2.1
    with pytest.raises(InvalidToken):
        caller_of(pair)


def test_former_staff_lose_staff_access_to_the_ledger(log_in, clock):
    user = UserFactory(is_staff=True)
    pair = log_in(user)
    assert caller_of(pair).is_staff is True
    User.objects.filter(pk=user.pk).update(is_staff=False)
    clock[0] += 5
    assert caller_of(pair).is_staff is False
