"""The scoring pages of the back office in a real browser, at two widths, in light and dark."""

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.utils import timezone

from credit.models.scoring import Score
from credit.scoring.evaluator import evaluate
from credit.scoring.scores import store_score
from tests.backoffice.conftest import staff_of
from tests.backoffice.test_applications import make, page_of
from tests.backoffice.test_scoring import MODELS
from tests.backoffice.test_scoring import page_of as version_page
from tests.credit.erasing import erase_facts
from tests.credit.scoring.cards import POOR, definition
from tests.credit.scoring.making import make_version
from tests.credit.scoring.past import model_of, version_of
from tests.factories import OfferFactory, ProviderFactory, UserFactory
from tests.system.backoffice.test_browser import Visit

WIDTHS = (390, 1440)
DATA = {name.partition(".")[2]: value for name, value in POOR.items() if name.startswith("application_data.")}


def second_definition():
    """Return a definition that differs from the champion's in every kind of field."""
    card = definition(base_points=480, segments=[])
    card["characteristics"][0]["bins"][1]["points"] = -15
    card["characteristics"][2]["name"] = "housing situation of the applicant, with a very long name"
    card["knockouts"].append(
        {"input": "income", "below": 50_000, "outcome": "decline", "reason": "income_insufficient"}
    )
    card["inputs"].append({"name": "employed", "months_since": "application_data.employed_since"})
    return card


@pytest.fixture
def scored_application(transactional_db):
    """A model with a champion and a draft version, and an application with a score."""
    cache.clear()
    staff_of("Reviewer", username="rita")
    staff_of("Support", username="sam")
    champion = version_of(model_of(ProviderFactory(id="501")))
    make_version(champion.model, **second_definition())
    offer = OfferFactory(name="Harbour loan", provider=champion.model.provider, blockscore_model_id=champion.model_id)
    case = make(
        consumer=UserFactory(username="jane"), offer_id=offer.pk, offer_snapshot=offer.terms(), application_data=DATA,
        submitted_at=timezone.now() - timedelta(days=2),
    )  # fmt: skip
    store_score(
        champion, POOR, evaluate(champion.card, POOR), purpose=Score.DECISION, user_id=case.consumer_id,
        application_id=case.pk, now=timezone.now(),
    )  # fmt: skip
    return champion, case


@pytest.mark.timeout(900)
def test_every_scoring_page_of_the_back_office_fits_the_screen_and_passes_axe(
    scored_application, chromium, live_server
):
    champion, case = scored_application
    visit = Visit(chromium, live_server, viewport={"width": 1440, "height": 900})
    page = visit.page
    visit.log_in("rita")
    page.goto(MODELS)
    visit.check_page("models", *WIDTHS)
    # The link covers the row, and the link of the champion stands at the center of the row.
    visit.go("#result_list tbody tr:first-child th")
    visit.check_page("model", *WIDTHS)
    visit.go("text=Version 2")
    visit.check_page("draft", *WIDTHS)
    visit.go("text=Publish as champion")
    assert "becomes a challenger" in page.inner_text("#content-main")
    visit.check_page("publish", *WIDTHS)
    page.goto(version_page(champion))
    visit.check_page("champion", *WIDTHS)
    visit.go("button:text-is('Compare')")
    assert page.locator("del").count() > 3
    visit.check_page("difference", *WIDTHS)
    page.goto(version_page(champion, "try"))
    page.fill("#id_application", f"A-{case.pk.hex[-8:].upper()}")
    visit.go("input[value=Compute]")
    assert "550" in page.inner_text("#content-main")
    visit.check_page("tried", *WIDTHS)
    page.goto(page_of(case))
    assert "Proposal: reject" in page.inner_text("#content-main")
    visit.check_page("case", *WIDTHS)
    visit.go(".case-actions >> text=Approve")
    visit.check_page("against-the-proposal", *WIDTHS)


def test_support_staff_can_see_a_scorecard_but_no_score_of_an_applicant(scored_application, chromium, live_server):
    champion, case = scored_application
    erase_facts(case.consumer_id)
    visit = Visit(chromium, live_server, viewport={"width": 390, "height": 844})
    visit.log_in("sam")
    visit.page.goto(version_page(champion))
    assert visit.page.locator("text=Try it").count() == 0
    visit.check_page("support-version")
    visit.page.goto(page_of(case))
    assert "The result is masked." in visit.page.inner_text("#content-main")
    assert "550" not in visit.page.inner_text("#content-main")
    visit.check_page("support-case")
