"""What several ask for at once: one account for one external id, twenty keys, one acceptance."""

from django.utils import timezone

from config.core.errors import ApiError
from config.core.lifecycle import Actor
from identity.access.own_keys import KEYS_MAX, create_own_key
from identity.accounts.invitations import accept, invite
from identity.accounts.links import LinkEnded
from identity.accounts.managed import make_account
from identity.models import ApiKey, ManagedAccount, User
from tests.factories import UserFactory
from tests.identity.support import issue
from tests.identity.test_invitations import EMAIL, person_with, token_of
from tests.identity.test_managed_accounts import made_partner
from tests.races import at_once


def test_one_account_is_made_for_one_external_id(committed):
    actor = Actor(made_partner(), "jwt:x")

    def make():
        return make_account(actor, external_id="c-1", email=None, name=None, now=timezone.now())[1]

    assert sorted(at_once(*[make] * 4)) == [False, False, False, True]
    assert (ManagedAccount.objects.count(), User.objects.count()) == (1, 2)


def test_the_twentieth_key_is_made_once(committed):
    user = UserFactory()
    for _ in range(KEYS_MAX - 1):
        issue(user)

    def make():
        try:
            facts = {"name": "n", "scopes": None, "expires_days": 1}
            return bool(create_own_key(Actor(user, "jwt:x"), **facts, now=timezone.now()))
        except ApiError:
            return False

    assert at_once(*[make] * 4).count(True) == 1
    assert ApiKey.objects.count() == KEYS_MAX


def test_an_invitation_is_accepted_once(committed):
    people = [person_with(EMAIL)]
    invite(actor=Actor.system("test"), email=EMAIL, role="partner", now=timezone.now())
    token = token_of()

    def take():
        try:
            return bool(accept(token, people[0], timezone.now()))
        except LinkEnded:
            return False

    assert at_once(*[take] * 4).count(True) == 1
