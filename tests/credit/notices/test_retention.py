"""Test that notices are retained for the longest period that applies, and during a litigation hold."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.db import DatabaseError, transaction
from django.utils import timezone

from config.ops.pruning import prune
from credit.erasure import kept_applications
from credit.models import Application, RetentionHold, ReviewRequest
from identity.models import User
from tests.api import assert_error, client_of
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.credit.notices.world import World
from tests.factories import ModelVersionFactory, UserFactory

pytestmark = pytest.mark.django_db

# Days after the notice is made, on day 6; a month counts as 31 days.
REGULATION_B, REGULATION_Z, COLORADO = 25 * 31, 24 * 31, 36 * 31


@pytest.fixture
def operator(db):
    user = UserFactory(is_staff=True)
    user.groups.add(Group.objects.get(name="Operations"))
    return client_of(user)


def erased(world, day):
    return prune(now=world.at(day))["notices"]


def erased_statements(world, day):
    return prune(now=world.at(day))["review_statements"]


def request_of(world, *, requested_at, **fields):
    """Create a request for reconsideration with a deadline on day 40, and return the day on which it ends."""
    ReviewRequest.objects.create(
        application=world.application, statement="My payslip was misread.", requested_at=requested_at,
        due_at=world.at(40), **fields,
    )  # fmt: skip
    return 20 if "answered_at" in fields else 40


def score(world, day):
    world.application.scores.create(
        version=ModelVersionFactory(model__provider=world.offer.provider), user=world.consumer.user,
        purpose="shadow", facts_sha256="0" * 64, points=[],
        total=1, outcome="refer", reasons=[], missing=[], created_at=world.at(day),
    )  # fmt: skip


def test_notice_text_is_retained_for_25_months_and_its_hash_is_retained_longer(world):
    """Test the rule in 12 CFR 1002.12(b)(1)."""
    world.reject(5)
    world.open_notice(6)
    assert [erased(world, 6 + REGULATION_B + days) for days in (-1, 1)] == [0, 1]
    assert (world.notice.html, world.notice.content, bool(world.notice.sha256)) == (None, None, True)


def test_accepted_application_is_retained_for_two_years_and_a_scored_application_for_three_years(world):
    """12 CFR 1026.25(a), C.R.S. 6-1-1701: the acceptance is long after the notice."""
    world.approve(5)
    world.issue(6)
    Application.objects.filter(pk=world.pk).update(accepted_at=world.at(100))
    scored = World(world.offer)
    scored.submit(0)
    score(scored, 5)
    scored.reject(5)
    scored.issue(6)
    for end in (100 + REGULATION_Z, 5 + COLORADO):
        assert [erased(world, end + days) for days in (-1, 1)] == [0, 1]


@pytest.mark.parametrize("answer", [{"answered_at": 20, "outcome": "rejected"}, {}])
def test_statement_of_a_review_request_is_retained_for_25_months_after_its_answer_or_deadline(world, answer):
    fields = answer | ({"answered_at": world.at(20)} if answer else {})
    end = request_of(world, requested_at=world.at(10), **fields)
    assert [erased_statements(world, end + REGULATION_B + days) for days in (-1, 1)] == [0, 1]
    request = ReviewRequest.objects.get()
    assert (request.statement, request.status) == (None, "answered" if answer else "open")


def test_litigation_hold_retains_notices_until_the_end_of_the_hold(world, operator):
    world.reject(5)
    world.issue(6)
    path = f"/applications/{world.pk}/hold"
    held = operator.replace(path, {"on": True, "reason": "Case 28-cv-1"}).json()
    assert (held["on"], held["reason"]) == (True, "Case 28-cv-1")
    with pytest.raises(DatabaseError), transaction.atomic():
        RetentionHold.objects.update(is_on=False)
    page = backoffice_client(staff_of("Reviewer")).get(f"/admin/credit/application/{world.pk}/change/").content.decode()
    assert "Litigation hold since" in page
    assert "Case 28-cv-1" in page
    assert erased(world, 4_000) == 0
    user = User.objects.get(groups__name="Operations")  # The earlier log-in was deleted too.
    assert client_of(user).replace(path, {"on": False, "reason": "Settled"}).json()["on"] is False
    assert erased(world, 4_000) == 1


def test_litigation_hold_retains_the_statement_of_an_unanswered_review_request(world):
    end = request_of(world, requested_at=world.at(10))
    hold = {"application": world.application, "reason": "x", "principal": world.other.user}
    RetentionHold.objects.create(is_on=True, at=world.at(11), **hold)
    assert erased_statements(world, end + 4_000) == 0
    RetentionHold.objects.create(is_on=False, at=world.at(12), **hold)
    assert erased_statements(world, end + 4_000) == 1


def test_litigation_hold_response_contains_the_end_of_each_retention_period(world, operator):
    world.reject(5)
    world.issue(6)
    score(world, 5)
    answer = operator.read(f"/applications/{world.pk}/hold").json()
    ends = {ground["name"]: ground["until"][:10] for ground in answer["grounds"]}
    assert ends == {
        "regulation_b": (world.at(6) + timedelta(REGULATION_B)).date().isoformat(),
        "colorado": (world.at(5) + timedelta(COLORADO)).date().isoformat(),
    }
    assert (answer["on"], answer["reason"], answer["at"]) == (False, None, None)


def test_only_operators_can_read_or_set_the_litigation_hold_of_an_application(world, operator):
    path = f"/applications/{world.pk}/hold"
    for actor in (world.consumer, world.lender, world.other):
        client = client_of(actor.user)
        assert_error(client.read(path), 403, "E2005")
        assert_error(client.replace(path, {"on": True, "reason": "x"}), 403, "E2005")
    assert not RetentionHold.objects.exists()
    assert_error(operator.read("/applications/01a20000-0000-7000-8000-000000000000/hold"), 404, "E4002")


def test_erasure_retains_an_application_during_a_litigation_hold(world, operator):
    path, user_id = f"/applications/{world.pk}/hold", world.consumer.user.pk
    operator.replace(path, {"on": True, "reason": "x"})
    later = timezone.now() + timedelta(days=31 * 40)
    assert kept_applications(user_id, now=later) == {world.application.pk: None}
    operator.replace(path, {"on": False, "reason": "y"})
    assert kept_applications(user_id, now=later) == {}
