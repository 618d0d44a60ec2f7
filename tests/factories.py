"""Records that tests start from, made with factory-boy."""

from datetime import timedelta

import factory
from django.utils import timezone

from credit.models import Application, Offer, Provider
from identity.models import User

PASSWORD = "correct horse battery"


class UserFactory(factory.django.DjangoModelFactory):
    """A user who can log in with PASSWORD."""

    class Meta:
        model = User
        skip_postgeneration_save = True

    username = factory.Sequence(lambda number: f"user{number}")
    password = factory.django.Password(PASSWORD)
    # Tokens issued in the same second as the account must count.
    credentials_changed_at = factory.LazyFunction(lambda: timezone.now() - timedelta(minutes=1))


class ProviderFactory(factory.django.DjangoModelFactory):
    """A provider id and its owner."""

    class Meta:
        model = Provider

    id = factory.Sequence(lambda number: str(100 + number))
    owner = factory.SubFactory(UserFactory)
    created_at = factory.LazyFunction(timezone.now)


class OfferFactory(factory.django.DjangoModelFactory):
    """An active offer of the provider's owner."""

    class Meta:
        model = Offer

    provider = factory.SubFactory(ProviderFactory)
    owner = factory.SelfAttribute("provider.owner")
    name = "Everyday loan"
    product_type = "personal_loan"
    created_at = factory.LazyFunction(timezone.now)
    updated_at = factory.LazyFunction(timezone.now)


class ApplicationFactory(factory.django.DjangoModelFactory):
    """An application in `draft` to an offer that is not listed here."""

    class Meta:
        model = Application

    consumer = factory.SubFactory(UserFactory)
    offer_id = 700_000
    provider_id = 700
    status = "draft"
    initial_status = factory.SelfAttribute("status")
    data_changed_by = factory.SelfAttribute("consumer")
    created_at = factory.LazyFunction(timezone.now)
    updated_at = factory.LazyFunction(timezone.now)
