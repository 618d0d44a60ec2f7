"""Create listed offers and applications to these offers."""

from django.utils import timezone

from tests.api import client_of
from tests.factories import ApplicationFactory, OfferFactory, ProviderFactory, UserFactory

LOAN = {
    "apr_min_percent": 6.9, "apr_max_percent": 17.5, "loan_amount_min_cents": 100_000,
    "loan_amount_max_cents": 4_000_000, "term_options_months": [12, 24, 36, 60],
}  # fmt: skip
LINE = {**LOAN, "term_options_months": None}
SAID = {"amount_cents": 1_000_000, "term_months": 24}


def lender_of(offer):
    return client_of(offer.provider.owner)


def listed(**terms):
    return OfferFactory(provider=ProviderFactory(id="700"), **{**LOAN, **terms})


def applied(offer, *, consumer=None, status="under_review", data=SAID, **columns):
    """Return an application to an offer, with its pinned terms."""
    now = timezone.now()
    pinned = {"offer_id": offer.pk, "offer_version": 1, "offer_snapshot": offer.terms()}
    return ApplicationFactory(
        consumer=consumer or UserFactory(), provider_id=int(offer.provider_id), status=status, application_data=data,
        **{"submitted_at": now, **pinned, **columns},
    )  # fmt: skip


def approve(client, application, terms=None, **members):
    metadata = {} if terms is None else {"metadata": {"terms": terms}}
    body = {"status": "approved", "updated_by": "name", **metadata, **members}
    return client.replace(f"/applications/{application.pk}/status", body)


def acceptance_of(client, application):
    answer = client.read(f"/applications/{application.pk}/acceptance")
    assert answer.status_code == 200, answer.content
    return answer.json()


def accept_terms(client, application, terms_sha256=None):
    body = {"terms_sha256": terms_sha256 or acceptance_of(client, application)["terms_sha256"]}
    if (application.offer_snapshot or {}).get("jurisdiction") == "eu":
        # The acceptance requires the hash of the form.
        form = client.read(f"/applications/{application.pk}/precontract")
        body |= {"precontract_sha256": form.json()["sha256"]} if form.status_code == 200 else {}
    return client.send(f"/applications/{application.pk}/acceptance", body)
