"""Run a story in two worlds: one waits, and the other moves its account's clock. Both return the visible result."""

from collections import defaultdict
from datetime import timedelta
from uuid import uuid4

from django.db import transaction
from django.utils import timezone

from claims.models import Claim
from config.api.models import IdempotencyRecord
from config.core.lifecycle import Actor
from config.sandbox import clock
from config.webhooks import endpoints
from config.webhooks.models import Delivery, Endpoint, Event
from config.webhooks.publishing import publish_account
from credit.applications.services import create_application
from credit.models import Application
from credit.scoring.known_facts import account_age_days, applications_lately, is_verified, verified_days_ago
from credit.terms.acceptance import accept
from identity.access import keys, tokens
from identity.kyc.models import KycVerification
from identity.kyc.services import apply_state, create_verification, request_verification
from identity.models import ApiKey, TokenFamily
from identity.providers.base import Progress
from identity.providers.models import SandboxVerification
from identity.providers.sandbox import complete_verification
from payments.crypto.broadcast import prepare_payment, store_payment
from payments.crypto.models import CryptoPayment
from staging.models import StagedItem
from staging.services import stage_item
from tests.factories import ClaimFactory, UserFactory
from tests.payments.wallet_support import NETWORK, OTHER_ADDRESS, connected
from tests.webhooks.conftest import PUBLIC_URL

# The interval of the workers while a world waits. A moved clock has another interval.
WORKERS_COME = timedelta(days=2)


class Moved:
    """A world that moves the clock of one account."""

    now = property(lambda _world: timezone.now())

    def wait(self, account_id, span):
        clock.advance(account_id, seconds=int(span.total_seconds()))


class Waiting:
    """A world that waits: time passes for all accounts, with runs of the workers in between."""

    def __init__(self):
        self.ahead = timedelta()

    now = property(lambda world: timezone.now() + world.ahead)

    def wait(self, _account_id, span):
        while span:
            step = min(span, WORKERS_COME)
            self.ahead += step
            span -= step
            clock.run_workers(now=self.now)


class Life:
    """The actions of a user, each a method, and the visible result."""

    def __init__(self, world):
        self.world = world
        self.user = UserFactory()
        self.actor = Actor(user=self.user, credential="test")
        self.wallet = connected(self.user)
        self.endpoint = endpoints.create_endpoint(
            account_id=self.user.pk, url=PUBLIC_URL, event_types=["*"], description="", now=self.world.now
        )
        self.refresh_tokens = []

    def wait(self, span):
        self.world.wait(self.user.pk, span)

    def apply(self, status="draft"):
        create_application(
            consumer_id=self.user.pk, offer_id=1, provider_id=700, application_data=None, initial_status=status,
            now=self.world.now,
        )  # fmt: skip

    def apply_and_be_approved(self):
        self.apply("approved")

    def apply_and_be_asked_for_documents(self):
        self.apply("pending_documents")

    def submit(self):
        for application in Application.objects.filter(consumer=self.user, status="draft"):
            application.transition_to("submitted", actor=self.actor, now=self.world.now)

    def take_up(self):
        for item in Application.objects.filter(consumer=self.user, status="approved"):
            accept(str(item.pk), terms_sha256=item.terms_sha256, actor=self.actor, now=self.world.now)

    def claim(self):
        ClaimFactory(user=self.user, created_at=self.world.now, updated_at=self.world.now)

    def stage(self):
        stage_item(user_id=self.user.pk, kind="note", payload={"text": "x"}, source=None, now=self.world.now)

    def verify(self, outcome=None):
        fields = {"template_id": None, "redirect_uri": None, "now": self.world.now}
        state = request_verification(user=self.user, key=None, **fields)
        if state is None:
            return
        verification = create_verification(actor=self.actor, state=state, **fields)
        if outcome is not None:
            session = SandboxVerification.objects.get(pk=verification.provider_reference)
            apply_state(
                verification,
                complete_verification(session.page_token, outcome, now=self.world.now),
                now=self.world.now,
            )

    def verify_and_pass(self):
        self.verify(Progress.PASSED)

    def make_key(self, days=90):
        now = self.world.now
        keys.create_api_key(
            owner=self.user, name=str(uuid4()), scopes=None, now=now, expires_at=now + timedelta(days=days)
        )

    def make_short_key(self):
        self.make_key(20)

    def rotate_key(self):
        for key in ApiKey.objects.filter(owner=self.user, replaced_by=None, revoked_at=None):
            keys.rotate_api_key(key, now=self.world.now, grace=timedelta(days=3))

    def log_in(self):
        pair = tokens.start_family(user=self.user, now=self.world.now)
        self.refresh_tokens.append(pair.refresh_token)

    def refresh(self):
        for text in self.refresh_tokens[-1:]:
            if tokens.find_refresh_token(text, client=None, now=self.world.now):
                self.refresh_tokens.append(tokens.rotate_refresh_token(text, now=self.world.now).refresh_token)

    def use_an_idempotency_key(self):
        IdempotencyRecord.objects.create(
            owner=self.user, key=uuid4(), fingerprint="f" * 64, status=200, body=b"{}", created_at=self.world.now
        )

    def pay_by_wallet(self):
        payment = prepare_payment(
            owner=self.user, wallet_id=str(self.wallet.pk), to_address=OTHER_ADDRESS, amount_usdc=5, description=None,
            network=NETWORK, now=self.world.now,
        )  # fmt: skip
        store_payment(payment)

    def rotate_secret(self):
        endpoints.rotate_secret(self.endpoint.pk, grace=timedelta(days=2), now=self.world.now)

    def fail_to_answer(self):
        """Postpone all pending deliveries by a day."""
        publish_account(self.user.pk, now=self.world.now)
        waiting = Delivery.objects.filter(account=self.user, status="pending")
        waiting.update(due_at=self.world.now + timedelta(days=1))

    def be_told(self):
        """Mark all deliveries as delivered."""
        publish_account(self.user.pk, now=self.world.now)
        Delivery.objects.filter(account=self.user).update(status="delivered", due_at=None)

    def seen(self):
        """Return everything that the account can see."""
        now, mine = self.world.now, {"user": self.user}
        own_keys = ApiKey.objects.filter(owner=self.user).order_by("created_at", "expires_at")
        deliveries = Delivery.objects.filter(account=self.user)
        statuses = {
            model: list(model.objects.filter(**owner).order_by("id").values_list("status", flat=True))
            for model, owner in (
                (Application, {"consumer": self.user}), (Claim, mine), (StagedItem, mine), (KycVerification, mine),
                (CryptoPayment, mine),
            )
        }  # fmt: skip
        fields = {"template_id": None, "redirect_uri": None, "now": now}
        return {
            **{model.__name__: status for model, status in statuses.items()},
            "events": self.event_types_by_record(),
            "keys": [(key.state_at(now), key.expiry_announced_at is not None) for key in own_keys],
            "refresh tokens": [
                tokens.find_refresh_token(text, client=None, now=now) is not None for text in self.refresh_tokens
            ],
            "log-ins": TokenFamily.objects.filter(user=self.user).count(),
            "idempotency keys": IdempotencyRecord.objects.filter(owner=self.user).count(),
            "secrets": len(Endpoint.objects.get(pk=self.endpoint.pk).live_secrets(now)),
            "deliveries": (deliveries.count(), deliveries.filter(status="pending", due_at__lte=now).count()),
            "facts": [
                ask(self.user.pk, now)
                for ask in (is_verified, verified_days_ago, account_age_days, applications_lately)
            ],
            "may verify": request_verification(user=self.user, key=None, **fields) is not None,
        }

    def event_types_by_record(self):
        """Return the types of the events of each record, in order; records in the order of their first event."""
        by_record = defaultdict(list)
        for event in Event.objects.filter(account=self.user).order_by("id"):
            by_record[next(iter(event.object.values()))].append((event.type, event.object.get("status")))
        return list(by_record.values())


ACTIONS = sorted(
    name
    for name, member in vars(Life).items()
    if callable(member) and name not in {"__init__", "wait", "seen", "event_types_by_record"}
)


def seen_after(story, world):
    """Run a story of actions (by name) and waiting times; return the visible result. The transaction is rolled back."""
    with transaction.atomic():
        life = Life(world)
        for step in story:
            if isinstance(step, timedelta):
                life.wait(step)
            else:
                getattr(life, step)()
        response_seen = life.seen()
        transaction.set_rollback(True)
    return response_seen
