"""Test the back office pages of claims."""

import pytest
from django.utils import timezone

from claims.models import Claim, ClaimHistory
from claims.services import delete_claim
from config.core.lifecycle import Actor
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import confirm, links_of, seen_value, send_form, text_of
from tests.claims.conftest import events_of, stored
from tests.factories import ClaimFactory, UserFactory

LIST = "/admin/claims/claim/"


@pytest.fixture
def rita(db):
    return staff_of("Reviewer", username="rita")


@pytest.fixture
def backoffice(rita):
    return backoffice_client(rita)


@pytest.fixture
def claim(db):
    owner = UserFactory(username="jane")
    return ClaimFactory(
        user=owner, status="pending", evidence=["https://example.org/<b>"], publication_id="doi:10.1/AB"
    )


def page(claim, *rest):
    return f"{LIST}{claim.pk}/{'/'.join(rest) + '/' if rest else 'change/'}"


def linked(response):
    assert response.status_code == 200
    return {link.partition("?")[0] for link in links_of(response)}


def test_claim_list_can_be_searched_by_id_publication_and_account(backoffice, claim):
    other = ClaimFactory(publication_id="10.2/other")
    for term in (str(claim.pk), "10.1/ab", "https://doi.org/10.1%2FAB", "jan", str(claim.user_id)):
        shown = linked(backoffice.get(LIST, {"q": term}))
        assert (page(claim) in shown, page(other) in shown) == (True, False), term
    for filters in (
        {"queue": "review"}, {"status": "pending"}, {"verification_level": "self_asserted"}, {"deleted": "no"},
    ):  # fmt: skip
        assert page(claim) in linked(backoffice.get(LIST, filters)), filters
    assert page(claim) not in linked(backoffice.get(LIST, {"queue": "disputes"}))


def test_claim_page_links_only_evidence_urls_and_shows_changes_after_the_approval(backoffice, claim):
    now = timezone.now()
    Claim.objects.filter(pk=claim.pk).update(
        evidence=[*claim.evidence, "javascript:alert(1)", "see example.org"], status="approved", approved_at=now,
        content_changed_at=timezone.now(),
    )  # fmt: skip
    response = backoffice.get(page(claim))
    text = text_of(response)
    assert "changed the claim after it was first approved" in text
    assert "10.1/ab" in text
    assert "javascript:alert(1) see example.org" in text
    assert [link for link in links_of(response) if "example.org" in link or "javascript" in link] == [
        "https://example.org/<b>"
    ]
    assert 'rel="noopener noreferrer nofollow"' in response.content.decode()


def test_back_office_button_approves_a_claim(backoffice, rita, claim, settings):
    settings.REVIEW_POLICY = "four_eyes"
    response = confirm(backoffice, page(claim, "move", "approved"), reason="The publisher confirms it.")
    assert "is now approved" in text_of(response)
    row = ClaimHistory.objects.get()
    assert (row.status, row.principal, row.credential, row.reason) == (
        "approved", rita, "admin", "The publisher confirms it.",
    )  # fmt: skip
    assert stored(claim).approved_at is not None
    assert events_of(claim.user)[0] == ["claim.approved"]
    history = backoffice.get("/admin/claims/claimhistory/")
    assert "The publisher confirms it." in text_of(history)
    assert page(claim) in links_of(history)


def test_back_office_claim_revocation_requires_a_reason(backoffice, claim):
    response = confirm(backoffice, page(claim, "move", "revoked"), reason="")
    assert stored(claim).status == "pending"
    assert "required" in text_of(response)
    send_form(backoffice, page(claim, "move", "revoked"), reason="Retracted.")
    assert stored(claim).status == "revoked"


def test_back_office_rejects_approval_of_a_claim_changed_after_opening(backoffice, claim):
    address = page(claim, "move", "approved")
    seen = seen_value(backoffice.get(address))
    type(claim).objects.filter(pk=claim.pk).update(updated_at=timezone.now(), evidence=["other"])
    backoffice.post(address, {"seen": seen, "reason": "x"}, follow=True)
    assert stored(claim).status == "pending"


def test_reviewer_can_set_the_verification_level_of_a_claim(backoffice, claim):
    response = confirm(backoffice, page(claim, "do", "level"), level="source_verified")
    assert "source verified" in text_of(response)
    assert stored(claim).verification_level == "source_verified"
    assert events_of(claim.user)[0] == ["claim.updated"]


def test_deleted_claim_is_visible_but_read_only_in_the_back_office(backoffice, claim):
    delete_claim(str(claim.pk), actor=Actor(user=claim.user, credential="jwt:x"), now=timezone.now())
    response = backoffice.get(page(claim))
    assert response.status_code == 200
    assert "The owner deleted the claim." in text_of(response)
    assert "Deleted by the owner" in text_of(response)
    for address in (page(claim, "move", "approved"), page(claim, "do", "level")):
        assert backoffice.get(address).status_code == 302
        backoffice.post(address, {"seen": "x", "reason": "x", "level": "source_verified"})
    assert (stored(claim).status, stored(claim).verification_level) == ("pending", "self_asserted")
    assert page(claim) in linked(backoffice.get(LIST, {"deleted": "yes"}))


def test_support_can_read_but_not_change_claims(claim):
    support = backoffice_client(staff_of("Support", username="sam"))
    assert support.get(page(claim)).status_code == 200
    assert support.get(page(claim, "move", "approved")).status_code == 403
    assert support.post(page(claim, "do", "level"), {"level": "source_verified"}).status_code == 403
    operations = backoffice_client(staff_of("Operations", username="omar"))
    assert operations.get(page(claim)).status_code == 403
    assert stored(claim).status == "pending"
