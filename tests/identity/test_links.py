"""Links in mails: each works once, for its purpose, its address and its time."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from config.ops.pruning import prune
from identity.accounts.links import LinkEnded, end_links, find_link, make_link, use_link
from identity.models import OneTimeLink
from tests.races import at_once

EMAIL = "jane@example.org"


def made(**options):
    return make_link("invitation", email=EMAIL, subject="7", lasts=timedelta(days=7), now=timezone.now(), **options)


def test_looking_at_it_changes_nothing_and_it_works_once(db):
    token = made()
    for _ in range(2):
        assert find_link(token, "invitation", now=timezone.now()).subject == "7"
    assert use_link(token, "invitation", email="JANE@example.org", now=timezone.now()).email == EMAIL
    for open_it in (find_link, use_link):
        with pytest.raises(LinkEnded):
            open_it(token, "invitation", now=timezone.now())


@pytest.mark.parametrize(
    "wrong",
    [
        {"purpose": "claim"}, {"email": "other@example.org"}, {"now": timezone.now() + timedelta(days=8)},
        {"token": "x"}, {"token": ""}, {"token": "\x00"},
    ],
)  # fmt: skip
def test_it_is_for_its_purpose_its_address_and_its_time(db, wrong):
    token = made()
    asked = {"token": token, "purpose": "invitation", "email": EMAIL, "now": timezone.now()} | wrong
    with pytest.raises(LinkEnded):
        use_link(**asked)
    assert use_link(token, "invitation", email=EMAIL, now=timezone.now())


def test_it_can_be_ended(db):
    token = made()
    assert end_links("invitation", subject="7", now=timezone.now()) == 1
    with pytest.raises(LinkEnded):
        find_link(token, "invitation", now=timezone.now())


def test_the_table_holds_neither_the_token_nor_the_address(db):
    token = made()
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM identity_onetimelink")
        kept = str(cursor.fetchall())
    assert token not in kept
    assert EMAIL not in kept


def test_concurrent_uses_of_a_link_succeed_once(committed):
    token = made()

    def use():
        try:
            return use_link(token, "invitation", now=timezone.now()) is not None
        except LinkEnded:
            return False

    assert at_once(*[use] * 6).count(True) == 1


def test_it_is_forgotten_at_its_end(db):
    made()
    assert prune(now=timezone.now() + timedelta(days=8))["one_time_links"] == 1
    assert not OneTimeLink.objects.exists()
