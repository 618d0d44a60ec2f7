"""Test races on PostgreSQL: one of two transitions succeeds, and one of 50 identical requests is executed."""

import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import partial
from itertools import pairwise

import pytest
from django.db import connection, connections, transaction
from django.utils import timezone

from config.core.lifecycle import Actor
from config.webhooks.models import Event
from credit.models import Application, ApplicationHistory, ApplicationRevision, Offer
from tests.api import ApiClient, assert_error, bearer_of
from tests.credit.support import move
from tests.credit.terms.lending import listed
from tests.credit.test_my_pages import browser_of
from tests.factories import ApplicationFactory, OfferFactory, ProviderFactory, UserFactory
from tests.properties import quick_or_full
from tests.races import run_concurrently

pytestmark = pytest.mark.usefixtures("committed", "needs_postgresql", "no_rate_limits")


def clients(user, count):
    """Return clients with one authenticated token: the tests are about the time after authentication."""
    token = bearer_of(user)
    api_clients = [ApiClient(bearer=token) for _ in range(count)]
    assert api_clients[0].read("/auth/me").status_code == 200
    return api_clients


def positions(application):
    """Return the history's positions in order of writing."""
    return list(application.history.order_by("id").values_list("position", flat=True))


def test_only_one_of_concurrent_approval_and_rejection_succeeds():
    user = UserFactory()
    pair = clients(user, 2)
    rounds = quick_or_full(20, 100)
    for _ in range(rounds):
        application = ApplicationFactory(consumer=user, status="under_review")
        calls = zip(pair, ["approved", "rejected"], strict=True)
        answers = run_concurrently(*[partial(move, client, application, to) for client, to in calls])
        assert sorted(answer.status_code for answer in answers) == [200, 400]
        winner = next(answer.json()["status"] for answer in answers if answer.status_code == 200)
        assert_error(next(answer for answer in answers if answer.status_code == 400), 400, "E3001")
        application.refresh_from_db()
        assert (application.status, application.moves) == (winner, 1)
        assert positions(application) == [1]
    assert Event.objects.count() == rounds


def test_stale_request_cannot_decide_an_application_whose_status_changed_and_changed_back():
    user = UserFactory()
    application = ApplicationFactory(consumer=user, status="under_review")
    actor, now = Actor(user=user, credential="test"), timezone.now()
    (client,) = clients(user, 1)

    def ask():
        try:
            return move(client, application, "approved")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as thread:
        with transaction.atomic():
            # The request reads the committed row, then waits for this transaction before it writes.
            application.transition_to("pending_documents", actor=actor, now=now)
            application.transition_to("under_review", actor=actor, now=now)
            late = thread.submit(ask)
            wait_for_a_blocked_connection()
        answer = late.result(timeout=30)
    body = assert_error(answer, 400, "E3001")
    assert (body["details"]["from"], body["details"]["to"]) == ("under_review", "approved")
    assert [row.status for row in application.history.order_by("position")] == ["pending_documents", "under_review"]


def wait_for_a_blocked_connection():
    """Return when another connection waits for a lock of this connection."""
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
    for _ in range(600):
        with connection.cursor() as cursor:
            cursor.execute(waiting)
            if cursor.fetchone()[0]:
                return
        time.sleep(0.05)
    pytest.fail("Nobody waits.")


def test_only_one_of_identical_concurrent_transitions_succeeds():
    user = UserFactory()
    application = ApplicationFactory(consumer=user, status="under_review")
    answers = run_concurrently(*[partial(move, client, application, "approved") for client in clients(user, 50)])
    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 49
    assert positions(application) == [1]


def test_concurrent_different_transitions_create_consecutive_history_positions():
    user = UserFactory()
    application = ApplicationFactory(consumer=user, status="under_review")
    moves = ["approved", "under_review", "pending_documents", "rejected"] * 5

    def wander(client):
        return [move(client, application, to).status_code for to in moves]

    answers = run_concurrently(*[partial(wander, client) for client in clients(user, 6)])
    done = sum(statuses.count(200) for statuses in answers)
    assert {status for statuses in answers for status in statuses} <= {200, 400}
    rows = list(ApplicationHistory.objects.order_by("position"))
    assert [row.position for row in rows] == list(range(1, done + 1))
    for before, after in pairwise(rows):
        assert before.status == after.previous_status
    application.refresh_from_db()
    assert (application.moves, application.status) == (done, rows[-1].status)
    assert Event.objects.count() == done


def test_concurrent_requests_with_one_idempotency_key_create_one_application():
    user = UserFactory()
    key, body = str(uuid.uuid4()), {"consumer_id": str(user.pk), "offer_id": 1, "provider_id": 2}
    crowd = clients(user, 50)
    answers = run_concurrently(*[partial(client.send, "/applications", body, key=key) for client in crowd])
    accepted = [answer for answer in answers if answer.status_code == 201]
    busy = [answer for answer in answers if answer.status_code == 409]
    assert len(accepted) + len(busy) == 50
    assert len({answer.content for answer in accepted}) == 1
    assert sum("Idempotent-Replayed" not in answer.headers for answer in accepted) == 1
    for answer in busy:
        assert_error(answer, 409, "E3010")
        assert answer.headers["Retry-After"] == "1"
    assert Application.objects.count() == Event.objects.count() == 1


@pytest.mark.usefixtures("reviewed")
def test_both_requests_of_a_double_click_open_the_page_of_a_single_draft():
    offer = listed()
    for _ in range(quick_or_full(5, 50)):
        user = UserFactory()
        browser = browser_of(user)
        browsers = [browser, copy(browser)]
        save = {"do": "save", "state": "", "first-legal_name": "Ada Example", "first-language": "en"}
        calls = [partial(browser.post, f"/my/apply/{offer.pk}", save) for browser in browsers]
        pages = {answer.headers.get("Location") for answer in run_concurrently(*calls)}
        assert pages == {f"/my/applications/{draft.pk}" for draft in Application.objects.filter(consumer=user)}
        assert len(pages) == 1


def test_only_one_of_concurrent_different_requests_with_one_idempotency_key_is_executed():
    user = UserFactory()
    pair = clients(user, 2)
    rounds = quick_or_full(5, 20)
    for _ in range(rounds):
        key = str(uuid.uuid4())
        bodies = [{"consumer_id": str(user.pk), "offer_id": number, "provider_id": 2} for number in (1, 2)]
        calls = [
            partial(client.send, "/applications", body, key=key) for client, body in zip(pair, bodies, strict=True)
        ]
        answers = run_concurrently(*calls)
        statuses = sorted(answer.status_code for answer in answers)
        assert statuses in ([201, 409], [201, 422])
    assert Application.objects.count() == rounds


def test_concurrent_decision_and_data_change_leave_a_consistent_application():
    user = UserFactory()
    pair = clients(user, 2)
    for _ in range(quick_or_full(10, 30)):
        application = ApplicationFactory(consumer=user, status="under_review", application_data={"v": 1})
        path = f"/applications/{application.id}"
        decided, changed = run_concurrently(
            partial(pair[0].replace, f"{path}/status", {"status": "approved", "updated_by": "me"}),
            partial(pair[1].replace, path, {"updated_by": "me", "application_data": {"v": 2}}),
        )
        assert decided.status_code == 200
        application.refresh_from_db()
        revisions = ApplicationRevision.objects.filter(application=application).count()
        if changed.status_code == 200:
            assert (application.application_data, revisions) == ({"v": 2}, 1)
        else:
            assert_error(changed, 400, "E3004")
            assert (application.application_data, revisions) == ({"v": 1}, 0)


def test_concurrent_updates_of_an_offer_have_different_versions():
    user = UserFactory()
    offer = OfferFactory(provider=ProviderFactory(owner=user))
    path = f"/provider-offers/{offer.pk}"

    body = {"provider_id": offer.provider_id, "product_type": "x"}
    callers = clients(user, 8)
    answers = run_concurrently(
        *[partial(client.replace, path, {**body, "name": f"n{number}"}) for number, client in enumerate(callers)]
    )
    assert [answer.status_code for answer in answers] == [200] * 8
    offer.refresh_from_db()
    assert offer.version == 9
    assert sorted(answer.json()["version"] for answer in answers) == list(range(2, 10))
    assert [answer.json()["name"] for answer in answers if answer.json()["version"] == 9] == [offer.name]


def test_lender_id_claimed_concurrently_has_only_one_owner():
    users = [UserFactory() for _ in range(8)]
    body = {"provider_id": "fresh", "name": "A", "product_type": "x"}
    callers = [clients(user, 1)[0] for user in users]
    answers = run_concurrently(*[partial(client.send, "/provider-offers", body) for client in callers])
    assert sorted(answer.status_code for answer in answers) == [201] + [403] * 7
    assert Offer.objects.count() == 1
