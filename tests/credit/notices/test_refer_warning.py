"""Test the warning if a rejection after a referral lacks reasons of the score (12 CFR 1002.9, comment 9(b)(2)-7)."""

import pytest

from credit.core.reasons import REASONS, key_of
from tests.api import client_of
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.credit.notices.world import World
from tests.credit.scoring.submitting import SAYS_POOR, SAYS_SO_SO, scored_offer, verify
from tests.credit.support import make_reviewer

pytestmark = pytest.mark.django_db


def scored(settings, data, *, is_reviewed=True, **options):
    settings.DECISIONING = "assist"
    offer, _ = scored_offer(**options)
    offer.provider.name, offer.provider.address = "Cedar Bank", "1 Bank Street"
    offer.provider.save()
    world = World(offer)
    application = world.application
    application.application_data, application.share = data, ["bank", "identity"]
    application.save()
    verify(world.consumer.user)
    world.move(0, "submitted", by=world.consumer)
    if is_reviewed:
        world.move(0, "under_review")
    return world


def reject(world, reasons, client=None, **members):
    body = {"status": "rejected", "updated_by": "x", "metadata": {"reasons": reasons}, **members}
    answer = (client or client_of(world.lender.user)).replace(f"/applications/{world.pk}/status", body)
    assert answer.status_code == 200, answer.content
    return answer.json()


def score_reasons(world, outcome="refer"):
    score = world.application.decision_score
    assert score.outcome == outcome
    assert score.reasons
    return [key_of(reason) for reason in score.reasons]


def test_lender_gets_a_warning_about_a_rejection_after_a_referral_if_no_score_reason_is_cited(settings):
    world = scored(settings, SAYS_SO_SO)
    other = next(code for code in REASONS if code not in {*score_reasons(world), "application_incomplete"})
    browser, page = backoffice_client(staff_of("Reviewer")), f"/admin/credit/application/{world.pk}/change/"
    shown = "the rejection has none of the score&#x27;s reasons"
    assert shown not in browser.get(page).content.decode()
    (warning,) = reject(world, [other])["warnings"]
    assert warning.startswith("The score referred the application, and the rejection has none of the score's reasons")
    assert all(REASONS[code] in warning for code in score_reasons(world))
    assert shown in browser.get(page).content.decode()
    assert "warnings" not in client_of(world.consumer.user).read(f"/applications/{world.pk}").json()


@pytest.mark.parametrize(("said", "outcome"), [(SAYS_SO_SO, "refer"), (SAYS_POOR, "decline")])
def test_rejection_with_a_score_reason_or_after_a_declining_score_returns_no_warning(settings, said, outcome):
    world = scored(settings, said)
    own = score_reasons(world, outcome)
    assert "residence_temporary" not in own
    reasons = ["residence_temporary", *own[-1:]] if outcome == "refer" else ["residence_temporary"]
    assert "warnings" not in reject(world, reasons, reason="Agreed.")


def test_rejection_proposal_and_confirmation_both_return_the_referral_warning(settings):
    settings.REVIEW_POLICY = "four_eyes"
    world = scored(settings, SAYS_SO_SO)
    first, second = client_of(make_reviewer()), client_of(make_reviewer())
    proposed = reject(world, ["residence_temporary"], first)
    assert proposed["status"] == "under_review"
    confirmed = reject(world, ["residence_temporary"], second)
    assert confirmed["status"] == "rejected"
    assert proposed["warnings"] == confirmed["warnings"] != []
