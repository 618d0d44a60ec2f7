"""Create records for tests with factory-boy."""

from datetime import timedelta
from hashlib import sha256

import factory
from django.utils import timezone

from claims.doi import publication_key
from claims.models import Claim
from config.core.json_text import canonical_json
from credit.core.figures import Figures
from credit.models import Application, ModelVersion, Offer, Provider, ProviderMember, ScoringModel
from identity.models import User
from staging.models import StagedItem
from tests.credit.scoring.cards import definition

PASSWORD = "correct horse battery"


class UserFactory(factory.django.DjangoModelFactory):
    """A user who can log in with PASSWORD."""

    class Meta:
        model = User
        skip_postgeneration_save = True

    username = factory.Sequence(lambda number: f"user{number}")
    password = factory.django.Password(PASSWORD)
    # Tokens issued in the same second as the account must be valid.
    credentials_changed_at = factory.LazyFunction(lambda: timezone.now() - timedelta(minutes=1))


class ProviderFactory(factory.django.DjangoModelFactory):
    """A lender whose owner has used it for a year."""

    class Meta:
        model = Provider
        skip_postgeneration_save = True

    id = factory.Sequence(lambda number: str(100 + number))
    owner = factory.SubFactory(UserFactory)
    name = factory.LazyAttribute(lambda provider: f"Bank {provider.id[:200]}")
    address = "1 Bank Street\nPortland, OR 97201"
    created_at = factory.LazyFunction(lambda: timezone.now() - timedelta(days=365))

    @factory.post_generation
    def members(self, *_args, **_options):
        """Make the owner a member."""
        ProviderMember.objects.create(provider=self, user=self.owner, role=ProviderMember.OWNER)


class OfferFactory(factory.django.DjangoModelFactory):
    """An active offer of the lender's owner."""

    class Meta:
        model = Offer

    provider = factory.SubFactory(ProviderFactory)
    owner = factory.SelfAttribute("provider.owner")
    name = "Everyday loan"
    product_type = "personal_loan"
    created_at = factory.LazyFunction(timezone.now)
    updated_at = factory.LazyFunction(timezone.now)


class ScoringModelFactory(factory.django.DjangoModelFactory):
    """A scoring model of the lender's owner, without a version."""

    class Meta:
        model = ScoringModel

    provider = factory.SubFactory(ProviderFactory)
    name = "Everyday card"
    created_by = factory.SelfAttribute("provider.owner")
    created_at = factory.LazyFunction(timezone.now)


class ModelVersionFactory(factory.django.DjangoModelFactory):
    """The first version of a model, its published champion; with another status it has no role."""

    class Meta:
        model = ModelVersion

    model = factory.SubFactory(ScoringModelFactory)
    number = 1
    definition = factory.LazyFunction(definition)
    definition_sha256 = factory.LazyAttribute(lambda instance: sha256(canonical_json(instance.definition)).hexdigest())
    status = "published"
    role = factory.LazyAttribute(lambda instance: "champion" if instance.status == "published" else "")
    made_by = factory.SelfAttribute("model.created_by")
    published_by = factory.LazyAttribute(lambda instance: instance.made_by if instance.status == "published" else None)
    published_at = factory.LazyAttribute(lambda instance: timezone.now() if instance.status == "published" else None)
    created_at = factory.LazyFunction(timezone.now)
    updated_at = factory.LazyFunction(timezone.now)


class ApplicationFactory(factory.django.DjangoModelFactory):
    """An application in `draft` for an unlisted offer."""

    class Meta:
        model = Application

    consumer = factory.SubFactory(UserFactory)
    offer_id = 700_000
    provider_id = 700
    status = "draft"
    application_data = None
    amount_cents = factory.LazyAttribute(lambda instance: Figures(instance.application_data).amount_cents)
    initial_status = factory.SelfAttribute("status")
    data_changed_by = factory.SelfAttribute("consumer")
    created_at = factory.LazyFunction(timezone.now)
    updated_at = factory.LazyFunction(timezone.now)


class ClaimFactory(factory.django.DjangoModelFactory):
    """A private claim in `draft`; with another status it has the dates of that status."""

    class Meta:
        model = Claim

    user = factory.SubFactory(UserFactory)
    publication_id = "10.1000/182"
    publication_key = factory.LazyAttribute(lambda claim: publication_key(claim.publication_id))
    claim_type = "author"
    status = "draft"
    evidence = factory.LazyFunction(list)
    approved_at = factory.LazyAttribute(lambda claim: timezone.now() if claim.status == "approved" else None)
    revoked_at = factory.LazyAttribute(lambda claim: timezone.now() if claim.status == "revoked" else None)
    created_at = factory.LazyFunction(timezone.now)
    updated_at = factory.LazyFunction(timezone.now)


class StagedItemFactory(factory.django.DjangoModelFactory):
    """A note that waits for its user's decision; decided notes have their date."""

    class Meta:
        model = StagedItem

    user = factory.SubFactory(UserFactory)
    kind = "note"
    status = "staged"
    payload = factory.LazyFunction(lambda: {"text": "Call the bank."})
    payload_sha256 = factory.LazyAttribute(lambda item: sha256(canonical_json(item.payload)).hexdigest())
    staged_at = factory.LazyFunction(timezone.now)
    decided_at = factory.LazyAttribute(lambda item: None if item.status == "staged" else timezone.now())
