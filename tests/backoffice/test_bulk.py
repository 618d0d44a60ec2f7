"""Moving many at once: a preview, and a result for each row."""

import pytest

from config.backoffice import bases as bulk
from credit.models import Application, ApplicationHistory, Proposal
from tests.backoffice.conftest import backoffice_client
from tests.backoffice.pages import text_of
from tests.backoffice.test_applications import LIST, make

ADDRESS = f"{LIST}bulk/rejected/"


def choose(client, applications, to="rejected"):
    data = {"action": f"move_to_{to}", "_selected_action": [str(row.pk) for row in applications], "index": "0"}
    return client.post(LIST, data, follow=True)


def rows_in(response):
    return [row["seen"] for row in response.context["rows"] if not row["refusal"]]


def test_three_are_chosen_previewed_and_rejected(reviewers_client):
    chosen = [make() for _ in range(3)]
    other = make()
    preview = choose(reviewers_client, chosen)
    assert "3 of 3 can make the transition to rejected now" in text_of(preview)
    assert not ApplicationHistory.objects.exists()
    result = reviewers_client.post(ADDRESS, {"row": rows_in(preview), "seen": "bulk", "code_1": "no_credit_file"})
    assert "Done: 3 of 3." in text_of(result)
    assert Application.objects.filter(status="rejected").count() == 3
    assert {row.metadata["reasons"][0] for row in ApplicationHistory.objects.all()} == {"no_credit_file"}
    other.refresh_from_db()
    assert other.status == "under_review"


def test_the_preview_says_which_cannot_be_moved_and_why(reviewers_client):
    able, draft = make(), make("draft")
    preview = choose(reviewers_client, [able, draft])
    text = text_of(preview)
    assert "1 of 2 can make the transition" in text
    assert f"Nothing: Cannot move application {draft.pk}" in text
    assert [seen.partition("|")[0] for seen in rows_in(preview)] == [str(able.pk)]


def test_a_row_that_changed_meanwhile_is_reported_and_left(reviewers_client):
    first, second = make(application_data={"a": 1}), make()
    preview = choose(reviewers_client, [first, second])
    Application.objects.filter(pk=first.pk).update(application_data={"a": 2})
    result = reviewers_client.post(ADDRESS, {"row": rows_in(preview), "seen": "bulk", "code_1": "bankruptcy"})
    text = text_of(result)
    assert "Done: 1 of 2." in text
    assert "Left as it is: The record changed" in text
    first.refresh_from_db()
    assert first.status == "under_review"


def test_a_form_that_is_not_right_moves_nothing_and_keeps_the_rows(reviewers_client):
    preview = choose(reviewers_client, [make(), make()])
    again = reviewers_client.post(ADDRESS, {"row": rows_in(preview), "seen": "bulk"})
    assert "errorlist" in again.content.decode()
    assert rows_in(again) == rows_in(preview)
    assert not ApplicationHistory.objects.exists()


def test_rows_that_name_nothing_are_left_out(reviewers_client):
    rows = ["", "|", "x|y", "019a0000-0000-7000-8000-000000000000|draft:0", "\x00|"]
    response = reviewers_client.post(ADDRESS, {"row": rows, "seen": "bulk", "code_1": "bankruptcy"})
    assert "Done: 0 of 0." in text_of(response)
    assert "Nothing was chosen" in text_of(reviewers_client.post(ADDRESS, {"seen": "bulk"}, follow=True))
    assert "Nothing was chosen" in text_of(reviewers_client.get(ADDRESS, follow=True))


def test_at_most_so_many_at_once(reviewers_client, monkeypatch):
    monkeypatch.setattr(bulk, "ROWS_MAX", 2)
    chosen = [make() for _ in range(3)]
    assert "At most 2 at once" in text_of(choose(reviewers_client, chosen))
    rows = [f"{row.pk}|x" for row in chosen]
    assert "At most 2 at once" in text_of(reviewers_client.post(ADDRESS, {"row": rows, "seen": "x"}, follow=True))


def test_under_four_eyes_each_row_becomes_a_proposal(reviewers_client, settings):
    settings.REVIEW_POLICY = "four_eyes"
    preview = choose(reviewers_client, [make(), make()])
    reviewers_client.post(ADDRESS, {"row": rows_in(preview), "seen": "bulk", "code_1": "bankruptcy"})
    assert Proposal.objects.filter(to="rejected").count() == 2
    assert not ApplicationHistory.objects.exists()


@pytest.mark.parametrize("to", ["expired", "withdrawn", "nonsense"])
def test_only_the_moves_that_are_offered_can_be_made(reviewers_client, to):
    assert reviewers_client.post(f"{LIST}bulk/{to}/", {"row": "x|y", "seen": "x"}).status_code == 403


def test_support_is_offered_no_bulk_move(supports_client, reviewer):
    application = make()
    assert "_selected_action" not in supports_client.get(LIST).content.decode()
    choose(supports_client, [application])
    assert supports_client.post(ADDRESS, {"row": f"{application.pk}|x", "seen": "x"}).status_code == 403
    strict = backoffice_client(reviewer, enforce_csrf_checks=True)
    assert strict.post(ADDRESS, {"row": f"{application.pk}|x"}).status_code == 403
    assert not ApplicationHistory.objects.exists()
