"""Test that the applicant accepts the approved terms at `/applications/{id}/acceptance`."""

import json
from datetime import timedelta
from functools import partial
from hashlib import sha256

import pytest
import rfc8785
from django.utils import timezone

from config.core.lifecycle import Actor
from config.webhooks.models import Event
from credit.applications.services import expire_idle
from credit.core.errors import InvalidApplicationTransition
from credit.models import Acceptance, Application, DecisionAnchor
from tests.api import assert_error, client_of
from tests.credit.support import move
from tests.credit.test_application_races import clients
from tests.factories import ApplicationFactory, OfferFactory, ProviderFactory, UserFactory
from tests.properties import quick_or_full
from tests.races import run_concurrently


@pytest.fixture
def offer(db):
    return OfferFactory(provider=ProviderFactory(id="700"), apr_max_percent=9.5)


@pytest.fixture
def approved(user, offer):
    return ApplicationFactory(
        consumer=user, offer_id=offer.pk, status="approved", offer_version=1, offer_snapshot=offer.terms(),
        submitted_at=timezone.now(),
    )  # fmt: skip


def path(application):
    return f"/applications/{application.pk}/acceptance"


def terms_of(client, application):
    return client.read(path(application)).json()["terms_sha256"]


def accept_terms(client, application, terms=None, **options):
    return client.send(path(application), {"terms_sha256": terms or terms_of(client, application)}, **options)


def test_approval_can_be_accepted_only_once(api, approved, user, offer):
    shown = api.read(path(approved)).json()
    assert (shown["acceptable"], shown["accepted_at"], shown["terms"]["apr_max_percent"]) == (True, None, 9.5)
    assert shown["terms_sha256"] == sha256(rfc8785.dumps(shown["terms"])).hexdigest()
    assert shown["expires_at"][:10] == (approved.updated_at + timedelta(days=30)).date().isoformat()
    first = accept_terms(api, approved)
    assert first.status_code == 200, first.content
    shown = first.json()
    assert (shown["acceptable"], shown["expires_at"]) == (False, None)
    assert shown["accepted_at"]
    assert accept_terms(api, approved).json() == shown == api.read(path(approved)).json()
    row = Acceptance.objects.get()
    assert (row.terms_sha256, row.principal) == (shown["terms_sha256"], user)
    account_ids = Event.objects.filter(type="application.accepted").values_list("account_id", flat=True)
    assert sorted(account_ids) == sorted([user.pk, offer.provider.owner_id])
    lender = client_of(offer.provider.owner).read("/providers/700/applications").json()["applications"][0]
    assert lender["accepted_at"] == shown["accepted_at"]


def test_terms_hash_follows_rfc_8785(api, user):
    # RFC 8785 serializes 9.0 as 9; Python would write 9.0.
    for percent in (9, 9.0, 9.25, 0.0001, 0, 100.0, 12.5, 29.99, 1.005, 36.0):
        offer = OfferFactory(apr_min_percent=percent, apr_max_percent=100.0)
        offer.refresh_from_db()
        pinned = {"offer_id": offer.pk, "offer_version": 1, "offer_snapshot": offer.terms()}
        shown = api.read(path(ApplicationFactory(consumer=user, status="approved", **pinned))).json()
        assert shown["terms"]["apr_min_percent"] == percent
        assert shown["terms_sha256"] == sha256(rfc8785.dumps(shown["terms"])).hexdigest(), percent
    unlisted = ApplicationFactory(consumer=user, status="approved")
    shown = api.read(path(unlisted)).json()
    assert (shown["terms"], shown["terms_sha256"]) == (None, sha256(b"null").hexdigest())
    assert accept_terms(api, unlisted).status_code == 200


def test_unapproved_application_cannot_be_accepted(api, user):
    for status in ("draft", "submitted", "under_review", "pending_documents", "rejected", "withdrawn"):
        application = ApplicationFactory(consumer=user, status=status)
        assert api.read(path(application)).json()["acceptable"] is False, status
        assert_error(accept_terms(api, application), 400, "E3011")


def test_acceptance_with_the_hash_of_other_terms_is_rejected(api, approved):
    for terms in ("0" * 64, "x", "\u0000", "", None, 7):
        answer = api.send(path(approved), {"terms_sha256": terms})
        assert (answer.status_code, answer.json()["code"] in {"E3012", "E1001", "E1002"}) == (400, True), terms
    assert not Acceptance.objects.exists()


def test_only_the_applicant_can_accept_an_approval(approved, stranger_api, offer):
    terms = approved.terms_sha256
    assert_error(accept_terms(stranger_api, approved, terms), 404, "E4002")
    lender = client_of(offer.provider.owner)
    assert lender.read(path(approved)).json()["acceptable"] is True
    assert_error(accept_terms(lender, approved, terms), 404, "E4002")


def test_accepted_approval_cannot_expire_or_be_withdrawn_and_reopens_only_with_a_reason(api, approved):
    assert move(api, approved, "under_review").status_code == 200  # An approval without an acceptance needs no reason.
    assert move(api, approved, "approved").status_code == 200
    accept_terms(api, approved)
    assert_error(move(api, approved, "withdrawn"), 400, "E3001")
    assert expire_idle(now=timezone.now() + timedelta(days=365))["approved"] == 0
    ways = {way["to"]: way for way in api.read(f"/applications/{approved.pk}/transitions").json()["transitions"]}
    assert (ways["withdrawn"]["allowed"], ways["withdrawn"]["code"]) == (False, "E3001")
    assert_error(move(api, approved, "under_review"), 400, "E1017")
    assert move(api, approved, "under_review", reason="The income was forged.").status_code == 200
    assert api.read(path(approved)).json()["accepted_at"] is None
    assert move(api, approved, "approved").status_code == 200
    assert accept_terms(api, approved).json()["accepted_at"]
    assert Acceptance.objects.count() == 2


def test_acceptance_of_an_approval_creates_a_record_to_anchor(api, approved, settings):
    settings.ANCHOR_DECISIONS = True
    accepted = accept_terms(api, approved).json()
    anchor = DecisionAnchor.objects.get()
    record = json.loads(anchor.record)
    assert (anchor.report_type, record["application_id"]) == ("acceptance", str(approved.pk))
    assert record["offer_terms_sha256"] == accepted["terms_sha256"]
    assert record["accepted_at"] == accepted["accepted_at"]


def test_withdrawal_with_stale_data_fails_after_the_approval_was_accepted(api, approved, user):
    stale = Application.objects.get(pk=approved.pk)
    accept_terms(api, approved)
    with pytest.raises(InvalidApplicationTransition):
        stale.transition_to("withdrawn", actor=Actor(user=user, credential="test"), now=timezone.now())
    assert Application.objects.get(pk=approved.pk).status == "approved"


@pytest.mark.usefixtures("committed", "needs_postgresql", "no_rate_limits")
class TestConcurrentAcceptance:
    def test_concurrent_acceptances_create_a_single_acceptance(self):
        user = UserFactory()
        application = ApplicationFactory(consumer=user, status="approved", submitted_at=timezone.now())
        callers = clients(user, 20)
        terms = terms_of(callers[0], application)
        answers = run_concurrently(*[partial(accept_terms, caller, application, terms) for caller in callers])
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.json()["accepted_at"] for answer in answers}) == 1
        assert (Acceptance.objects.count(), Event.objects.filter(type="application.accepted").count()) == (1, 1)

    def test_only_one_of_concurrent_acceptance_and_withdrawal_succeeds(self):
        user = UserFactory()
        pair = clients(user, 2)
        for _ in range(quick_or_full(10, 30)):
            application = ApplicationFactory(consumer=user, status="approved", submitted_at=timezone.now())
            accepting = partial(accept_terms, pair[0], application, application.terms_sha256)
            answers = run_concurrently(accepting, partial(move, pair[1], application, "withdrawn"))
            assert sorted(answer.status_code for answer in answers) == [200, 400]
            application.refresh_from_db()
            assert (application.accepted_at is None) == (application.status == "withdrawn")
