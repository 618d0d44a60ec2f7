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


def test_claim_list_can_be_searched_by_id_publication_and_account(backoffice, claim):
    other = ClaimFactory(publication_id="10.2/other")
    for term in (str(claim.pk), "10.1/ab", "https://doi.org/10.1%2FAB", "jane", "jan", str(claim.user_id)):
        response = backoffice.get(LIST, {"q": term})
        assert response.status_code == 200
        assert page(claim) in {link.partition("?")[0] for link in links_of(response)}, term
        assert page(other) not in {link.partition("?")[0] for link in links_of(response)}, term
    for filters in (
        {"queue": "review"}, {"status": "pending"}, {"verification_level": "self_asserted"}, {"deleted": "no"},
    ):  # fmt: skip
        assert page(claim) in {link.partition("?")[0] for link in links_of(backoffice.get(LIST, filters))}
    assert page(claim) not in {link.partition("?")[0] for link in links_of(backoffice.get(LIST, {"queue": "disputes"}))}


def test_claim_page_links_only_to_evidence_with_a_web_address(backoffice, claim):
    Claim.objects.filter(pk=claim.pk).update(evidence=[*claim.evidence, "javascript:alert(1)", "see example.org"])
    response = backoffice.get(page(claim))
    text = text_of(response)
    assert "10.1/ab" in text
    assert "https://example.org/<b>" in text
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


def test_deleted_claim_is_shown_and_cannot_be_changed(backoffice, claim):
    delete_claim(str(claim.pk), actor=Actor(user=claim.user, credential="jwt:x"), now=timezone.now())
    response = backoffice.get(page(claim))
    assert response.status_code == 200
    assert "The owner deleted the claim." in text_of(response)
    assert "Deleted by the owner" in text_of(response)
    for address in (page(claim, "move", "approved"), page(claim, "do", "level")):
        assert backoffice.get(address).status_code == 302
        backoffice.post(address, {"seen": "x", "reason": "x", "level": "source_verified"})
    assert (stored(claim).status, stored(claim).verification_level) == ("pending", "self_asserted")
    assert page(claim) in {link.partition("?")[0] for link in links_of(backoffice.get(LIST, {"deleted": "yes"}))}


def test_claim_page_shows_a_change_after_approval(backoffice, claim):
    now = timezone.now()
    type(claim).objects.filter(pk=claim.pk).update(
        status="approved", approved_at=now, content_changed_at=timezone.now()
    )
    assert "changed the claim after it was first approved" in text_of(backoffice.get(page(claim)))


def test_support_can_read_but_not_change_claims(claim):
    support = backoffice_client(staff_of("Support", username="sam"))
    assert support.get(page(claim)).status_code == 200
    assert support.get(page(claim, "move", "approved")).status_code == 403
    assert support.post(page(claim, "do", "level"), {"level": "source_verified"}).status_code == 403
    operations = backoffice_client(staff_of("Operations", username="omar"))
    assert operations.get(page(claim)).status_code == 403
    assert stored(claim).status == "pending"


def test_claim_history_list_shows_reasons_and_links_to_claims(backoffice, claim):
    send_form(backoffice, page(claim, "move", "approved"), reason="fine")
    response = backoffice.get("/admin/claims/claimhistory/")
    assert "fine" in text_of(response)
    assert page(claim) in links_of(response)
