"""Models and versions for tests, created as the API creates them."""

from django.utils import timezone

from config.core.lifecycle import Actor
from credit.models import ProviderMember
from credit.scoring import versions
from tests.credit.scoring.cards import definition
from tests.factories import ProviderFactory, UserFactory


def make_model(owner=None, provider=None):
    """Create a model of a provider that `owner` owns."""
    provider = provider or ProviderFactory(owner=owner or UserFactory())
    return versions.create_model(
        provider_id=provider.pk, name="Everyday", description="", by=actor(provider.owner), now=timezone.now()
    )


def make_version(model, *, role=None, by=None, **changes):
    """Create the model's next version: a draft, or published in a role."""
    owner = by or model.provider.owner
    version = versions.add_version(model, definition=definition(**changes), note="", made_by=owner, now=timezone.now())
    if role is not None:
        versions.publish(version, role=role, actor=actor(owner), now=timezone.now())
    return version


def actor(user):
    return Actor(user=user, credential="test")


def join(provider, role=ProviderMember.REVIEWER, **account):
    """Return a new member of the provider."""
    member = UserFactory(**account)
    ProviderMember.objects.create(provider=provider, user=member, role=role)
    return member
