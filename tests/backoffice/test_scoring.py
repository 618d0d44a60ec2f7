"""Test scorecards, differences, trials, and publication of model versions in the back office."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone

from config.core.casework import DataAccess
from credit.models import DecisionAnchor
from credit.models.scoring import ModelVersion, Score
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import confirm, messages_of, seen_value, send_form, text_of
from tests.backoffice.test_applications import make
from tests.credit.scoring.cards import definition
from tests.credit.scoring.making import make_version
from tests.credit.scoring.past import model_of, version_of
from tests.factories import OfferFactory, ProviderFactory

MODELS = "/admin/credit/scoringmodel/"
VERSIONS = "/admin/credit/modelversion/"
DATA = {"monthly_income_cents": 320_000, "monthly_debt_cents": 32_000, "housing": "hotel"}


def page_of(version, page="change", *more):
    return reverse(f"admin:credit_modelversion_{page}", args=[version.pk, *more])


@pytest.fixture
def model(db):
    return model_of(ProviderFactory(id="501"))


@pytest.fixture
def champion(model):
    return version_of(model)


@pytest.fixture
def draft(model, champion):
    """Return the second version: one bin has fewer points, and the characteristic `housing` is removed."""
    card = definition(base_points=540)
    card["characteristics"].pop()
    card["characteristics"][0]["bins"][1]["points"] = 5
    return make_version(model, **card)


class TestLists:
    def test_scoring_models_and_versions_can_be_listed_filtered_and_exported(
        self, reviewers_client, champion, draft, db
    ):
        text = text_of(reviewers_client.get(MODELS))
        assert "Everyday card" in text
        assert f"{champion.model.provider.name} (501)" in text
        row = reviewers_client.get(MODELS).context["cl"].result_list[0]
        assert row.counted == 2
        assert row.champion_id == champion.pk
        for term in ("every", str(champion.model_id), "501"):
            assert len(reviewers_client.get(MODELS, {"q": term}).context["cl"].result_list) == 1, term
        assert not reviewers_client.get(MODELS, {"q": "nothing"}).context["cl"].result_list
        text = text_of(reviewers_client.get(VERSIONS))
        assert "Everyday card, version 1" in text
        assert "Everyday card, version 2" in text
        listed = reviewers_client.get(VERSIONS, {"status__exact": "draft"}).context["cl"].result_list
        assert listed == [draft]
        text = text_of(reviewers_client.get(reverse("admin:credit_scoringmodel_change", args=[champion.model_id])))
        assert "Version 2" in text
        assert "Version 1 published champion" in text
        for name, lines in [("scoringmodel", 1), ("modelversion", 2)]:
            answer = reviewers_client.post(reverse(f"admin:credit_{name}_export", args=["csv"]))
            assert b"".join(answer).count(b"\n") == lines + 1, (name, lines)
        stranger = backoffice_client(staff_of())
        for address in (MODELS, VERSIONS, page_of(champion)):
            assert stranger.get(address).status_code == 403, address


class TestCard:
    def test_model_version_page_describes_the_scorecard_in_words(self, supports_client, champion):
        answer = supports_client.get(page_of(champion))
        text = text_of(answer)
        for said in (
            "approve a total from 640", "refer a total from 560 to 639", "reject a total below 560",
            "segment prime a total from 700", "attainable 520 to 740",
            "When identity verified is no: refer, for any total. Unable to verify identity.",
            "ratio of monthly debt as claimed to monthly income as claimed",
            "housing as claimed, a text; the applicant cannot change it",
            "Points below the baseline count for the reason “Length of residence”.",
            "from 1,500 to below 3,000 70 -50", "rent or family 25 -15", "everything else 10 -30", "missing 0 -120",
            champion.definition_sha256,
        ):  # fmt: skip
            assert said in text, said
        assert not re.search("`|application_data|_cents", text)
        assert answer.content.decode().count('<svg class="points"') == 12

    def test_model_version_page_escapes_text_of_the_definition(self, reviewers_client, model):
        card = definition()
        card["characteristics"][0]["name"] = "<script>alert(1)</script>"
        card["characteristics"][2]["bins"][1]["in"] = ["<b>own</b>"]
        body = reviewers_client.get(page_of(version_of(model, definition=card))).content.decode()
        assert "<script>alert" not in body
        assert "<b>own</b>" not in body
        assert "&lt;b&gt;own&lt;/b&gt;" in body

    def test_model_version_timeline_shows_the_anchored_publication(self, reviewers_client, draft, settings):
        settings.ANCHOR_DECISIONS = True
        send_form(reviewers_client, page_of(draft, "do", "publish-challenger"))
        assert "anchored in the ledger" not in text_of(reviewers_client.get(page_of(draft)))
        DecisionAnchor.objects.update(anchored_at=timezone.now(), block_number=7, proof={}, proof_file="x")
        text = text_of(reviewers_client.get(page_of(draft)))
        assert "Publication 1 anchored in the ledger block 7" in text


class TestDifference:
    def test_version_comparison_page_shows_removed_and_changed_parts_of_a_scorecard(
        self, reviewers_client, champion, draft
    ):
        answer = reviewers_client.get(page_of(draft, "difference"), {"with": 1})
        body, text = answer.content.decode(), text_of(answer)
        assert "<del>below 1,500: 20 points</del>" in body
        assert "<ins>below 1,500: 5 points</ins>" in body
        assert "<del>500</del>" in body
        assert "Characteristic “housing” removed" in text
        assert "not there" in text
        assert "3 fields differ" in text
        assert text_of(reviewers_client.get(page_of(champion, "difference"), {"with": 2})).endswith(
            text.partition("3 fields")[2]
        )
        for asked in ["", "with=", "with=9", "with=x", "with=%00", "with=99999999999999999999"]:
            answer = reviewers_client.get(f"{page_of(champion, 'difference')}?{asked}")
            assert answer.status_code == 200, asked
            assert "fields differ" not in text_of(answer), asked

    def test_version_comparison_page_states_that_identical_model_versions_compute_the_same_scores(
        self, reviewers_client, champion, model
    ):
        make_version(model)
        text = text_of(reviewers_client.get(page_of(champion, "difference"), {"with": 2}))
        assert "compute the same" in text


class TestTrial:
    @pytest.fixture
    def application(self, db):
        return make(application_data=DATA, share=["identity"])

    def ask(self, client, version, term):
        return client.post(page_of(version, "try"), {"application": term})

    def test_model_version_trial_stores_only_an_access_log_entry(self, reviewers_client, reviewer, draft, application):
        text = text_of(self.ask(reviewers_client, draft, f"A-{application.pk.hex[-8:].upper()}"))
        assert "740 of 0 to 900" in text
        assert "income $3,200 from $3,000 120 0" in text
        assert "debt to income 10% below 20% 80 0" in text
        assert "A knockout applies" in text
        assert "Reasons Unable to verify identity Points" in text
        assert not Score.objects.exists()
        look = DataAccess.objects.get(viewer=reviewer, kind="credit.application")
        assert (look.subject_id, look.record_id) == (application.consumer_id, str(application.pk))
        assert look.details == {"scoring_model": draft.model_id, "version": 2}

    def test_model_version_trial_shows_reasons_missing_facts_and_bins_with_more_points(self, reviewers_client, model):
        version = version_of(model, definition=definition(base_points=504, knockouts=[]))
        poor = make(application_data={"monthly_income_cents": 140_000, "monthly_debt_cents": 70_000})
        text = text_of(self.ask(reviewers_client, version, str(poor.pk)))
        assert "Missing: housing." in text
        assert "housing — missing 15 -25" in text
        assert "Income insufficient for amount of credit requested" in text
        assert "income “from $1,500 to below $3,000” instead of “below $1,500” (+50 points)" in text

    def test_trial_of_a_model_version_requires_a_reviewer_and_a_known_application(
        self, reviewers_client, champion, application, supports_client, operations_client
    ):
        unknown = "You can review no application with this reference or ID."
        for term, error in [
            ("A-00000000", unknown), ("00000000-0000-7000-8000-000000000000", unknown),
            ("nonsense", "Enter a reference such as A-3F9C21AB, or a complete ID."),
            ("x" * 61, "Ensure this value has at most 60 characters"), ("", "This field is required."),
        ]:  # fmt: skip
            answer = self.ask(reviewers_client, champion, term)
            assert answer.status_code == 200, term
            assert error in text_of(answer), term
            assert not DataAccess.objects.filter(kind="credit.application").exists(), term
        for client in (supports_client, operations_client):
            assert client.get(page_of(champion, "try")).status_code == 403
            assert self.ask(client, champion, str(application.pk)).status_code == 403
            assert "Try it" not in text_of(client.get(page_of(champion)))
        assert not DataAccess.objects.filter(kind="credit.application").exists()


class TestPublishing:
    def test_publishing_a_champion_version_on_its_page_demotes_the_previous_champion(
        self, reviewers_client, champion, draft
    ):
        text = text_of(reviewers_client.get(page_of(draft, "do", "publish-champion")))
        assert "Version 1, the current champion, becomes a challenger." in text
        answer = confirm(reviewers_client, page_of(draft, "do", "publish-champion"))
        assert "Version 2 is now published as champion." in text_of(answer)
        roles = ModelVersion.objects.order_by("number").values_list("status", "role")
        assert list(roles) == [("published", "challenger"), ("published", "champion")]
        assert draft.history.get().credential == "admin"

    def test_model_version_cannot_be_published_if_the_champion_changed_after_opening_the_page(
        self, reviewers_client, champion, draft
    ):
        page = reviewers_client.get(page_of(draft, "do", "publish-champion"))
        send_form(reviewers_client, page_of(champion, "do", "retire"))
        answer = reviewers_client.post(
            page_of(draft, "do", "publish-champion"), {"seen": seen_value(page)}, follow=True
        )
        assert "changed after you opened the page" in text_of(answer)
        draft.refresh_from_db()
        assert draft.status == "draft"

    def test_retirement_confirmation_of_a_champion_version_states_the_effect(self, reviewers_client, champion):
        assert "It is published as champion." in text_of(reviewers_client.get(page_of(champion)))
        text = text_of(reviewers_client.get(page_of(champion, "do", "retire")))
        assert "The model then has no champion" in text
        send_form(reviewers_client, page_of(champion, "do", "retire"))
        champion.refresh_from_db()
        assert (champion.status, champion.role) == ("retired", "")
        refused = messages_of(reviewers_client.get(page_of(champion, "do", "publish-champion")))
        assert "Can't change the status of model version" in refused

    def test_author_cannot_publish_their_model_version_under_four_eyes(
        self, reviewers_client, reviewer, model, settings
    ):
        settings.REVIEW_POLICY = "four_eyes"
        own = make_version(model, by=reviewer)
        assert "The author of a version can't publish it." in text_of(reviewers_client.get(page_of(own)))
        reviewers_client.get(page_of(own, "do", "publish-champion"))
        own.refresh_from_db()
        assert own.status == "draft"
        send_form(backoffice_client(staff_of("Reviewer")), page_of(own, "do", "publish-champion"))
        own.refresh_from_db()
        assert own.status == "published"

    def test_support_and_operations_cannot_publish_or_retire_a_model_version(
        self, supports_client, operations_client, draft
    ):
        for client in (supports_client, operations_client):
            assert "Publish as" not in text_of(client.get(page_of(draft)))
            for name in ("publish-champion", "publish-challenger", "retire"):
                assert client.get(page_of(draft, "do", name)).status_code == 403
                assert client.post(page_of(draft, "do", name), {"seen": "x"}).status_code == 403


def test_offer_page_shows_the_name_of_its_scoring_model(reviewers_client, champion):
    offer = OfferFactory(provider=champion.model.provider, blockscore_model_id=champion.model_id)
    page = text_of(reviewers_client.get(reverse("admin:credit_offer_change", args=[offer.pk])))
    assert "Scoring model Everyday card" in page
