"""Applications to an offer that names a scoring model."""

from identity.models import BankAccount, KycVerification
from tests.credit.scoring.cards import GOOD, POOR
from tests.factories import ApplicationFactory, ModelVersionFactory, OfferFactory

# If the identity is verified, the card of `cards` approves, declines, and refers these application data.
SAYS_GOOD, SAYS_POOR = (
    {
        "amount_cents": 500_000,
        **{name.partition(".")[2]: value for name, value in facts.items() if name.startswith("application_data.")},
    }
    for facts in (GOOD, POOR)
)
SAYS_SO_SO = {**SAYS_GOOD, "monthly_debt_cents": 160_000, "housing": "rent", "monthly_income_cents": 200_000}


def verify(user):
    """Verify a person's identity."""
    now = user.date_joined
    KycVerification.objects.create(
        user=user, attempt=1, status="verified", provider="sandbox", provider_reference=f"kyc-{user.pk}",
        provider_status="verified", steps={}, expires_at=now, refreshed_at=now, completed_at=now, created_at=now,
        updated_at=now,
    )  # fmt: skip


def bank_account(user, cents):
    """Create a bank account of the person with this balance, reported by a bank."""
    BankAccount.objects.create(
        user=user, account_id="a", name="Account", type="depository", currency="USD", current_cents=cents,
        from_provider=True, created_at=user.date_joined, updated_at=user.date_joined,
    )  # fmt: skip


def scored_offer(**options):
    """Return a line of credit whose offer names a model with a published champion, and that version."""
    version = ModelVersionFactory(**options)
    single = {"apr_min_percent": 9.9, "apr_max_percent": 9.9}
    offer = OfferFactory(provider=version.model.provider, blockscore_model_id=version.model_id, **single)
    return offer, version


def draft_for(offer, consumer, data=None, **options):
    """Return a draft application to an offer, which shares all data."""
    return ApplicationFactory(
        consumer=consumer, offer_id=offer.pk, provider_id=int(offer.provider_id),
        application_data=SAYS_GOOD if data is None else data, **{"share": ["bank", "identity"], **options},
    )  # fmt: skip


def submit(api, application):
    """Submit a draft over the API."""
    return api.replace(f"/applications/{application.pk}/status", {"status": "submitted", "updated_by": "me"})
