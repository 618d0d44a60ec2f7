"""What of identity moves with an account's clock, and what goes when it is reset."""

from datetime import datetime

from django.db.models import Value
from django.db.models.functions import Concat
from oauth2_provider.models import Grant

from config.sandbox import reset, timers
from identity.access.authentication import forget_credentials
from identity.bank.models import BankAccount, BankItem, BankTransaction
from identity.kyc.models import KycVerification
from identity.models import ApiKey, RefreshToken, User
from identity.providers.models import SandboxItem, SandboxVerification
from identity.providers.sandbox import Sandbox


def register() -> None:
    timers.register_timer(User, "date_joined", owner="pk")
    timers.register_timer(ApiKey, "created_at", "expires_at", "last_used_at", owner="owner")
    timers.register_timer(RefreshToken, "expires_at", owner="family__user")
    timers.register_timer(Grant, "expires", owner="user")
    timers.register_timer(
        KycVerification, "created_at", "updated_at", "refreshed_at", "expires_at", "completed_at", owner="user"
    )
    timers.register_worker(forget_checks)
    reset.register_task(forget_verifications)
    reset.register_task(forget_banks)
    for model in (BankItem, BankAccount, BankTransaction):
        reset.register_owned(model, "user_id")


def forget_checks(*, now: datetime) -> dict[str, int]:  # noqa: ARG001  the signature of every worker
    """Let no process of this server go on with a key or a log-in that has just ended; others notice in seconds."""
    forget_credentials()
    return {}


def forget_verifications(going: reset.Reset) -> int:
    """Hand over verifications and close their pages.

    Their names at the provider are set free: who sends a request again with the same Idempotency-Key asks the provider
    under the same name, and may get the same session there.
    """
    own = KycVerification.objects.filter(user_id=going.account_id)
    sessions = own.filter(provider=Sandbox.name).values("provider_reference")
    SandboxVerification.objects.filter(pk__in=sessions).delete()
    freed = Concat("provider_reference", Value(f" reset {going.keeper_id}"))
    return own.update(user_id=going.keeper_id, provider_reference=freed)


def forget_banks(going: reset.Reset) -> int:
    """Delete the items at the sandbox, so that the same public token links the same bank again."""
    items = BankItem.objects.filter(user_id=going.account_id, provider=Sandbox.name)
    SandboxItem.objects.filter(pk__in=items.values("item_id")).delete()
    deleted, _ = items.delete()
    return deleted
