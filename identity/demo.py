from datetime import datetime
from typing import Any

from config.core.lifecycle import Actor
from identity.bank.services import link_item
from identity.kyc.services import apply_state, create_verification, request_verification
from identity.models import BankItem, KycVerification, SandboxVerification, User
from identity.providers.base import Progress
from identity.providers.sandbox import play, state_of


def verify(person: Any, progress: Progress | None, *, now: datetime) -> None:
    if KycVerification.objects.filter(user=person).exists():
        return
    state = request_verification(user=person, key=None, template_id=None, redirect_uri=None, now=now)
    actor = Actor(user=person, credential="demo")
    made = create_verification(actor=actor, state=state, template_id=None, redirect_uri=None, now=now)
    if progress is not None:
        session = SandboxVerification.objects.get(pk=made.provider_reference)
        apply_state(made, state_of(play(session.page_token, progress, now=now)), now=now)


def seed(*, consumer: Any, staff: Any, now: datetime) -> None:  # noqa: ARG001  the signature of every seed
    verify(consumer, Progress.PASSED, now=now)
    verify(_person("demo-noor"), Progress.REVIEW, now=now)
    verify(_person("demo-emil"), None, now=now)
    if not BankItem.objects.filter(user=consumer).exists():
        actor = Actor(user=consumer, credential="demo")
        link_item(actor=actor, public_token=f"public-sandbox-demo-{consumer.pk}", now=now)


def _person(username: str) -> User:
    person, is_new = User.objects.get_or_create(username=username)
    if is_new:
        person.set_unusable_password()
        person.save()
    return person
