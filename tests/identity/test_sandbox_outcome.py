"""POST /v1/sandbox/verifications/{id}/outcome: playing the person without the page."""

from datetime import timedelta

import pytest

from tests.api import assert_error
from tests.identity.banking import age, play, read, row_of, start, statuses_of

pytestmark = pytest.mark.django_db


def end(client, verification_id, outcome="verified"):
    return client.send(f"/sandbox/verifications/{verification_id}/outcome", {"outcome": outcome})


@pytest.mark.parametrize(("outcome", "word"), [("verified", "pass"), ("failed", "fail"), ("pending_review", "review")])
def test_it_ends_as_the_page_ends_it(api, user, stranger_api, outcome, word):
    by_call, by_page = start(api), start(stranger_api)
    answer = end(api, by_call["verification_id"], outcome)
    assert answer.status_code == 200, answer.content
    assert answer.json()["status"] == outcome
    assert answer.json() == read(api, by_call["verification_id"]).json()
    assert statuses_of(user) == ["requires_input", "processing", outcome]
    play(by_page, word)
    for name in ("status", "provider_status", "steps", "last_error"):
        assert getattr(row_of(by_call), name) == getattr(row_of(by_page), name)


def test_an_ended_verification_does_not_change(api):
    shown = start(api)
    end(api, shown["verification_id"], "pending_review")
    body = assert_error(end(api, shown["verification_id"], "verified"), 400, "E3004")
    assert body["details"]["from"] == "pending_review"
    assert row_of(shown).status == "pending_review"


def test_an_expired_verification_cannot_be_simulated(api):
    shown = start(api)
    age(shown["verification_id"], expires_at=timedelta(hours=25))
    assert_error(end(api, shown["verification_id"]), 400, "E3004")
    assert row_of(shown).status == "requires_input"


def test_a_verification_of_another_provider_is_not_there(api, settings):
    shown = start(api)
    settings.OPEN_BANKING = "plaid"
    assert_error(end(api, shown["verification_id"]), 404, "E4005")
