"""The proof of a decision on the applicant's pages."""

import json

import pytest
from django.utils import timezone

from config.core.digest import digest_of
from credit.models import DecisionAnchor
from tests.credit.terms.lending import applied, approve, lender_of, listed
from tests.credit.test_my_pages import browser_of, page_of
from tests.factories import ApplicationFactory, UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reviewed")]


@pytest.fixture
def application():
    offer = listed()
    approved = applied(offer)
    approve(lender_of(offer), approved)
    return approved


def proof_page(application, path="", user=None, **headers):
    return browser_of(user or application.consumer).get(f"/my/applications/{application.pk}/proof{path}", **headers)


def test_page_of_an_undecided_application_has_no_link_to_a_proof():
    application = ApplicationFactory(status="submitted")
    assert "/proof" not in page_of(application)
    assert proof_page(application).status_code == 404


def test_page_of_a_decided_application_links_to_its_record_and_proof(application, settings):
    assert f'href="/my/applications/{application.pk}/proof"' in page_of(application)
    anchor = DecisionAnchor.objects.get()
    assert "not in the ledger yet" in proof_page(application).content.decode()
    assert proof_page(application, f"/{anchor.pk}/proof").status_code == 404
    DecisionAnchor.objects.update(
        anchored_at=timezone.now(), block_number=3, proof={}, proof_file="c2sp.org/tlog-proof@v1\n"
    )
    text = proof_page(application).content.decode()
    assert f"{settings.CHAIN_URL}/?hash={anchor.record_sha256}" in text
    record = proof_page(application, f"/{anchor.pk}/record")
    assert digest_of(record.content.decode()) == anchor.record_sha256
    assert json.loads(record.content)["application_id"] == str(application.pk)
    proof = proof_page(application, f"/{anchor.pk}/proof")
    assert proof.content == b"c2sp.org/tlog-proof@v1\n"
    assert proof.headers["Content-Disposition"] == f'attachment; filename="{anchor.record_sha256}.tlog-proof"'
    for language, title in (("es", "Prueba de la decisión"), ("de", "Nachweis der Entscheidung")):
        text = proof_page(application, HTTP_ACCEPT_LANGUAGE=language).content.decode()
        assert f"<h1>{title}</h1>" in text
    for path in ("", f"/{anchor.pk}/record", f"/{anchor.pk}/nothing", "/nothing/record"):
        assert proof_page(application, path, UserFactory()).status_code == 404
