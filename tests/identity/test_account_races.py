"""Test that concurrent requests do not create duplicate accounts, excess keys, or second acceptances."""

import pytest
from django.utils import timezone

from config.core.errors import ApiError
from config.core.lifecycle import Actor
from identity.access.keys import KEYS_MAX, create_own_key
from identity.accounts import managed
from identity.accounts.invitations import accept, invite
from identity.accounts.links import LinkEnded
from identity.accounts.managed import claim, disable_account, end_access, issue_token, make_account
from identity.errors import AccessEnded
from identity.models import ApiKey, ManagedAccount, TokenFamily, User
from tests.factories import UserFactory
from tests.identity.support import issue
from tests.identity.test_invitations import EMAIL, person_with, token_of
from tests.identity.test_managed_accounts import made_partner
from tests.races import run_concurrently


def test_concurrent_requests_for_an_external_id_create_one_account(committed):
    actor = Actor(made_partner(), "jwt:x")

    def make():
        return make_account(actor, external_id="c-1", email=None, name=None, now=timezone.now())[1]

    assert sorted(run_concurrently(*[make] * 4)) == [False, False, False, True]
    assert (ManagedAccount.objects.count(), User.objects.count()) == (1, 2)


def test_concurrent_requests_create_at_most_20_api_keys(committed):
    user = UserFactory()
    for _ in range(KEYS_MAX - 1):
        issue(user)

    def make():
        try:
            facts = {"name": "n", "scopes": None, "expires_days": 1}
            return bool(create_own_key(Actor(user, "jwt:x"), **facts, now=timezone.now()))
        except ApiError:
            return False

    assert run_concurrently(*[make] * 4).count(True) == 1
    assert ApiKey.objects.count() == KEYS_MAX


def test_invitation_accepted_concurrently_creates_one_account(committed):
    people = [person_with(EMAIL)]
    invite(actor=Actor.system("test"), email=EMAIL, role="partner", now=timezone.now())
    token = token_of()

    def take():
        try:
            return bool(accept(token, people[0], timezone.now()))
        except LinkEnded:
            return False

    assert run_concurrently(*[take] * 4).count(True) == 1


def to_claim(number=0):
    """Return a partner, an account that it created, and the token of the mailed claim link."""
    actor = Actor(made_partner(), "jwt:x")
    facts = {"external_id": "c-1", "email": f"person{number}@example.org", "name": None, "now": timezone.now()}
    account, _ = make_account(actor, **facts)
    return actor, account, token_of("claim")


def test_an_account_claimed_during_a_disable_request_is_not_disabled(db, monkeypatch):
    actor, account, token = to_claim()
    load = managed.load_account

    def load_then_claim(*args):
        record = load(*args)
        claim(token, username="jane", password="a horse walks far", now=timezone.now())
        return record

    monkeypatch.setattr(managed, "load_account", load_then_claim)
    disable_account(actor, str(account.pk), now=timezone.now())
    account.refresh_from_db()
    assert account.claimed_at is not None
    assert account.ended_at is not None
    assert account.user.is_active


@pytest.mark.usefixtures("committed", "needs_postgresql")
def test_concurrent_claim_and_deactivation_of_a_managed_account_are_serialized():
    for number in range(20):
        actor, account, token = to_claim(number)

        def take(token=token, number=number):
            try:
                return bool(claim(token, username=f"jane{number}", password="a horse walks far", now=timezone.now()))
            except LinkEnded:
                return False

        def end(actor=actor, account=account):
            try:
                disable_account(actor, str(account.pk), now=timezone.now())
            except AccessEnded:
                return False
            return True

        is_claimed, is_ended = run_concurrently(take, end)
        account.refresh_from_db()
        assert is_ended
        assert (account.claimed_at is not None, account.user.is_active) == (is_claimed, is_claimed)


def test_partner_gets_no_token_if_the_access_ends_during_the_request(db, monkeypatch):
    actor, account, _ = to_claim()
    load = managed.load_account

    def load_then_end(*args):
        record = load(*args)
        end_access(account, now=timezone.now())
        return record

    monkeypatch.setattr(managed, "load_account", load_then_end)
    with pytest.raises(AccessEnded):
        issue_token(actor, str(account.pk), scopes=["offers:read"], now=timezone.now())
    assert not TokenFamily.objects.filter(actor=actor.user).exists()
