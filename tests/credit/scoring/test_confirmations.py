"""Test figures that reviewers confirm, the facts of an application, and repeated scoring."""

import json
from datetime import timedelta
from hashlib import sha256

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from config.core.casework import DataAccess
from config.core.encryption import UnreadableSecret
from config.core.erasure import erase_rows
from config.core.errors import ValidationFailed
from credit.anchoring.services import bundle_of
from credit.anchoring.verify_decision import verify
from credit.core.profile import check as check_schema
from credit.documents.requests import request_documents
from credit.documents.storage import store_file
from credit.models import Confirmation, DocumentFile, Proposal, Provider, ProviderMember, Score
from credit.review.automatic import decide_scored
from tests.api import assert_error, client_of
from tests.credit.document_support import PDF
from tests.credit.scoring import sourced
from tests.credit.scoring.cards import definition
from tests.credit.scoring.making import join
from tests.credit.scoring.submitting import SAYS_GOOD, draft_for, scored_offer, submit
from tests.credit.scoring.submitting import verify as verify_identity
from tests.credit.support import key_of, make_reviewer, move
from tests.credit.terms.test_counteroffers import counter
from tests.factories import OfferFactory

pytestmark = pytest.mark.django_db

CLAIMS = {"amount_cents": 500_000, "term_months": 12, "monthly_income_cents": 200_000, "monthly_debt_cents": 60_000}
CONFIRMED = "confirmed.monthly_income_cents"


def card():
    created = sourced.card()
    created["inputs"][0]["first_of"] = [sourced.INCOME, CONFIRMED, sourced.CLAIMED]
    return created


def file_of(application):
    """Upload a file for a requested document of an application."""
    now = timezone.now()
    request_documents(application, ["Payslip"], by=application.consumer, now=now)
    return DocumentFile.objects.create(
        document=application.requested_documents.get(), stored=store_file(PDF, now=now), name="payslip.pdf",
        content_type="application/pdf", size_bytes=len(PDF), sha256=sha256(PDF).hexdigest(), received_at=now,
        principal=application.consumer, credential="jwt:x",
    )  # fmt: skip


@pytest.fixture
def sent(api, user):
    """Return a scored application with a file."""
    offer, version = scored_offer(definition=card())
    application = draft_for(offer, user, CLAIMS)
    assert submit(api, application).status_code == 200
    application.refresh_from_db()
    application.file, application.version = file_of(application), version
    return application


def member_of(application, role):
    """Return a client of a new member of the application's lender."""
    return client_of(join(Provider.objects.get(pk=application.provider_id), role=role))


def confirm(client, application, **changes):
    body = {"pointer": "/monthly_income_cents", "value": 320_000, "file_id": str(application.file.pk), **changes}
    return client.send(f"/applications/{application.pk}/confirmations", body)


def facts_of(client, application):
    return {fact["name"]: fact for fact in client.read(f"/applications/{application.pk}/facts").json()["facts"]}


def score_again(client, application):
    return client.send(f"/applications/{application.pk}/score")


class TestConfirm:
    def test_reviewer_can_confirm_a_figure(self, reviewers_api, sent):
        response = confirm(reviewers_api, sent)
        assert response.status_code == 201, response.content
        row = Confirmation.objects.get()
        assert response.json() == {
            "id": str(row.pk), "pointer": "/monthly_income_cents", "value": 320_000, "file_id": str(sent.file.pk),
            "confirmed_by": str(row.confirmed_by_id), "confirmed_at": response.json()["confirmed_at"],
        }  # fmt: skip
        assert row.confirmed_by.username == "rita"

    def test_only_the_newest_confirmed_value_of_a_figure_is_decrypted(self, reviewers_api, sent, monkeypatch):
        for pointer, value in (("/a", 1), ("/a", 2), ("/b", 3)):
            assert confirm(reviewers_api, sent, pointer=pointer, value=value).status_code == 201
        opened, read = [], Confirmation.parsed_value.fget

        def parsed(row):
            opened.append(row.pointer)
            if row.pointer == "/b":
                raise UnreadableSecret("confirmation", str(row.pk))
            return read(row)

        monkeypatch.setattr(Confirmation, "parsed_value", property(parsed))
        assert {pointer: known.value for pointer, known in Confirmation.known_of(sent.pk).items()} == {
            "/a": 2, "/b": None,
        }  # fmt: skip
        assert opened == ["/a", "/b"]

    def test_newest_confirmed_value_of_a_figure_is_used_with_its_json_type(self, reviewers_api, sent):
        values = ("own", True, 0.25, 0)
        for value in values:
            assert confirm(reviewers_api, sent, pointer="/a b/~1€", value=value).json()["value"] == value
            fact = facts_of(reviewers_api, sent)["confirmed#/a b/~1€"]
            assert (fact["value"], fact["source"], fact["as_of"]) == (value, "confirmed", str(timezone.now().date()))
        assert Confirmation.objects.count() == len(values)

    def test_invalid_figure_confirmation_is_rejected(self, reviewers_api, user, sent):
        other = draft_for(scored_offer(definition=card())[0], user, CLAIMS)
        for change in (
            {"pointer": "monthly_income_cents"}, {"pointer": ""}, {"pointer": "/a~2"}, {"pointer": "/" * 9},
            {"pointer": "/\u202ea"}, {"pointer": f"/{'a' * 61}"}, {"pointer": 5}, {"value": None}, {"value": [1]},
            {"value": {"a": 1}}, {"value": "x" * 1_001}, {"file_id": "x"},
            {"file_id": "01900000-0000-7000-8000-000000000110"}, {"file_id": str(file_of(other).pk)},
        ):  # fmt: skip
            assert_error(confirm(reviewers_api, sent, **change), 400, "E1001")
        type(sent.file.stored).objects.update(deleted_at=timezone.now())
        assert_error(confirm(reviewers_api, sent), 400, "E1001")
        assert not Confirmation.objects.exists()

    def test_only_reviewers_with_an_unrestricted_credential_can_confirm_figures(
        self, api, user, stranger_api, sent, settings
    ):
        for settings.REVIEW_POLICY in ("open", "reviewed", "four_eyes"):
            assert_error(confirm(api, sent), 403, "E2010")
        user.groups.add(make_reviewer().groups.get())
        assert_error(confirm(client_of(user), sent), 403, "E2010")
        assert_error(confirm(stranger_api, sent), 404, "E4002")
        scoped = key_of(make_reviewer(), "applications:read", "applications:write", "score:read")
        assert_error(confirm(scoped, sent), 403, "E2005")
        assert confirm(member_of(sent, ProviderMember.REVIEWER), sent).status_code == 201
        assert_error(confirm(member_of(sent, ProviderMember.READER), sent), 403, "E2010")

    def test_sole_reviewer_of_a_lender_cannot_confirm_figures_under_four_eyes(self, sent, settings):
        settings.REVIEW_POLICY = "four_eyes"
        ProviderMember.objects.exclude(user=sent.version.model.provider.owner).delete()
        owner = client_of(sent.version.model.provider.owner)
        error = assert_error(confirm(owner, sent), 403, "E2010")
        assert "no other account can review" in error["message"]
        member_of(sent, ProviderMember.READER)
        assert_error(confirm(owner, sent), 403, "E2010")
        member_of(sent, ProviderMember.REVIEWER)
        assert confirm(owner, sent).status_code == 201

    def test_closed_application_rejects_confirmations_and_scoring(self, reviewers_api, sent):
        for status in ("approved", "rejected", "withdrawn", "expired"):
            type(sent).objects.filter(pk=sent.pk).update(status=status)
            assert_error(confirm(reviewers_api, sent), 400, "E3004")
            assert_error(score_again(reviewers_api, sent), 400, "E3004")

    def test_confirmed_values_are_encrypted_and_confirmations_and_scores_are_append_only(self, reviewers_api, sent):
        confirm(reviewers_api, sent, value="a secret")
        with connection.cursor() as cursor:
            cursor.execute("SELECT value FROM credit_confirmation")
            assert "secret" not in cursor.fetchone()[0]
            for statement in (
                "UPDATE credit_confirmation SET pointer = '/other'",
                "UPDATE credit_confirmation SET confirmed_at = created_at",
                "DELETE FROM credit_confirmation", "UPDATE credit_score SET number = 7", "DELETE FROM credit_score",
            ):  # fmt: skip
                with pytest.raises(DatabaseError), transaction.atomic():
                    cursor.execute(statement)

    def test_erasure_deletes_the_confirmed_value(self, reviewers_api, user, sent):
        confirm(reviewers_api, sent)
        erase_rows(user.pk, now=timezone.now() + timedelta(days=31 * 40))
        assert Confirmation.objects.get().value is None
        assert facts_of(reviewers_api, sent)[CONFIRMED]["value"] is None


class TestFacts:
    def test_bank_fact_is_compared_with_the_applicants_claim_of_the_same_figure(self, api, user, sent):
        sourced.bank(user, paid_in=230_000, paid_out=120_000)
        facts = facts_of(api, sent)
        assert facts[sourced.INCOME] == {
            "name": sourced.INCOME, "value": 230_000, "source": "bank", "as_of": facts["bank.as_of"]["value"],
            "differs_from_claim": True,
        }  # fmt: skip
        assert facts[sourced.SPENDING]["differs_from_claim"] is None

    def test_figure_that_differs_from_its_claim_by_more_than_10_percent_is_marked(self, reviewers_api, sent):
        for value, differs in (
            (200_000, False), (220_000, False), (220_001, True), (180_000, False), (179_999, True), ("200000", True),
        ):  # fmt: skip
            confirm(reviewers_api, sent, value=value)
            assert facts_of(reviewers_api, sent)[CONFIRMED]["differs_from_claim"] is differs, value
        confirm(reviewers_api, sent, pointer="/savings_cents")  # has no claim
        assert facts_of(reviewers_api, sent)["confirmed.savings_cents"]["differs_from_claim"] is None

    def test_fact_list_omits_facts_that_are_not_shared(self, api, user, reviewers_api, sent):
        sourced.bank(user, paid_in=230_000, paid_out=120_000)
        type(sent).objects.filter(pk=sent.pk).update(share=["identity"])
        for client in (api, reviewers_api):
            assert {name.partition(".")[0] for name in facts_of(client, sent)} == {"identity"}

    def test_reviewers_access_to_the_facts_of_an_application_is_logged(self, api, reviewers_api, sent):
        before = DataAccess.objects.count()
        facts_of(api, sent)
        assert DataAccess.objects.count() == before
        facts_of(reviewers_api, sent)
        assert DataAccess.objects.get(viewer__username="rita").record_id == str(sent.pk)


class TestRepeatedScoring:
    def test_new_score_becomes_the_current_score_and_the_previous_score_is_retained(self, api, reviewers_api, sent):
        before = Score.objects.get()
        confirm(reviewers_api, sent, value=320_000)
        response = score_again(reviewers_api, sent)
        assert response.status_code == 201, response.content
        fact = {"name": CONFIRMED, "source": "confirmed", "as_of": str(timezone.now().date())}
        assert (response.json()["score"], fact in response.json()["facts"]) == (before.total + 50, True)
        assert api.read(f"/applications/{sent.pk}/score").json() == response.json()
        assert sorted(Score.objects.values_list("number", "total")) == [(1, before.total), (2, before.total + 50)]

    def test_decision_bundle_contains_the_newest_score_and_passes_verification(self, reviewers_api, sent, settings):
        settings.ANCHOR_DECISIONS = True
        confirm(reviewers_api, sent, value=320_000)
        score_again(reviewers_api, sent)
        for to in ("under_review", "approved"):
            assert move(reviewers_api, sent, to, reason="Seen.").status_code == 200
        sent.refresh_from_db()
        bundle = bundle_of(sent)
        assert CONFIRMED in bundle["facts"]
        steps = {step.name: step.state for step in verify(json.dumps(bundle).encode())}
        assert {steps[name] for name in ("definition", "facts", "total", "outcome", "reasons")} == {"ok"}
        move(reviewers_api, sent, "under_review", reason="Again.")
        confirm(reviewers_api, sent, value=1)
        score_again(reviewers_api, sent)
        sent.refresh_from_db()
        # The response has the facts of the decision, not of the later score.
        assert bundle_of(sent)["facts"] == bundle["facts"]

    def test_applicants_and_readers_cannot_score_an_application_again(self, api, sent):
        assert_error(score_again(api, sent), 403, "E2010")
        assert_error(score_again(member_of(sent, ProviderMember.READER), sent), 403, "E2010")
        assert Score.objects.count() == 1

    def test_application_with_a_proposed_decision_is_not_scored_again(self, reviewers_api, sent, settings):
        other = client_of(make_reviewer(username="ruth"))
        move(reviewers_api, sent, "under_review")
        settings.REVIEW_POLICY = "four_eyes"
        assert move(reviewers_api, sent, "approved", reason="Seen.").status_code == 200
        proposal = Proposal.objects.get()
        sent.refresh_from_db()
        error = assert_error(score_again(other, sent), 400, "E3004")
        assert "second reviewer" in error["message"]
        assert Score.objects.count() == 1
        state = sent.reviewed_state
        assert state == proposal.seen
        assert "score" not in state
        settings.REVIEW_POLICY = "reviewed"
        assert score_again(other, sent).status_code == 201
        settings.REVIEW_POLICY = "four_eyes"
        rescored = type(sent).objects.get()
        assert rescored.reviewed_state == f"{state}:score2"
        assert not proposal.counts_for(rescored)

    def test_application_with_an_open_counteroffer_is_not_scored_again(self, reviewers_api, sent):
        move(reviewers_api, sent, "under_review")
        counteroffer = counter(reviewers_api, sent, terms={"amount_cents": 300_000, "rate_percent": 9.9})
        assert counteroffer.status_code == 201, counteroffer.content
        assert "counteroffer" in assert_error(score_again(reviewers_api, sent), 400, "E3004")["message"]
        path = f"/applications/{sent.pk}/counteroffers/{counteroffer.json()['id']}"
        assert reviewers_api.remove(path).status_code in {200, 204}
        assert score_again(reviewers_api, sent).status_code == 201

    def test_application_without_a_model_cannot_be_scored_again(self, reviewers_api, sent, settings):
        settings.DECISIONING = "off"
        assert_error(score_again(reviewers_api, sent), 404, "E4013")

    def test_application_is_referred_if_a_confirmed_value_has_the_wrong_type(self, reviewers_api, sent):
        confirm(reviewers_api, sent, value="a lot")
        assert score_again(reviewers_api, sent).json()["outcome"] == "refer"

    def test_application_scored_again_is_decided_by_reviewers(self, api, user, reviewers_api, settings):
        settings.DECISIONING, settings.REVIEW_POLICY = "automatic", "reviewed"
        verify_identity(user)
        offer, _ = scored_offer(
            definition=definition(outcomes=[{"outcome": "approve", "from": 0}, {"outcome": "refer"}])
        )
        applications = [draft_for(offer, user, SAYS_GOOD) for _ in range(2)]
        for application in applications:
            submit(api, application)
        score_again(reviewers_api, applications[0])
        decide_scored(now=timezone.now())
        for application in applications:
            application.refresh_from_db()
        assert Score.objects.filter(application=applications[0]).count() == 2
        assert [each.status for each in applications] == ["submitted", "approved"]


class TestSchemaFacts:
    SCHEMA = {"type": "object", "properties": {"pay": {"type": "integer", "x-fact": sourced.INCOME}}}

    def test_fact_is_compared_with_the_field_that_the_offers_schema_links_to_the_fact(self, api, user):
        sourced.bank(user, paid_in=230_000, paid_out=120_000)
        offer = OfferFactory(application_schema=self.SCHEMA)
        application = draft_for(offer, user, {"amount_cents": 500_000, "pay": 400_000})
        assert submit(api, application).status_code == 200
        assert facts_of(api, application)[sourced.INCOME]["differs_from_claim"] is True

    @pytest.mark.parametrize("fact", ["bank.nothing", "application_data.pay", "person.accounts", 1])
    def test_offer_schema_that_links_a_field_to_an_unknown_fact_is_rejected(self, fact):
        schema = {"type": "object", "properties": {"pay": {"type": "integer", "x-fact": fact}}}
        with pytest.raises(ValidationFailed) as refusal:
            check_schema(schema)
        assert refusal.value.details[0]["field"] == "/application_schema/properties/pay/x-fact"
