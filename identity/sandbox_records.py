from datetime import datetime

from django.db.models import Value
from django.db.models.functions import Concat
from oauth2_provider.models import Grant

from config.api.models import IdempotencyRecord
from config.ops.models import RequestLine
from config.ops.request_log import LOG
from config.sandbox.records import Reset, SandboxRecords, Timer
from identity.access.authentication import forget_credentials
from identity.bank.models import BankAccount, BankItem, BankTransaction
from identity.kyc.models import KycVerification
from identity.models import ApiKey, Invitation, ManagedAccount, RefreshToken, TokenFamily, User
from identity.providers.models import SandboxItem, SandboxVerification
from identity.providers.sandbox import Sandbox


def forget_checks(*, now: datetime) -> dict[str, int]:  # noqa: ARG001  the signature of every worker
    """Let no process of this server go on with a key or a log-in that has just ended; others notice in seconds."""
    forget_credentials()
    return {}


def forget_verifications(going: Reset) -> int:
    """Hand over verifications and close their pages.

    Their names at the provider are set free: who sends a request again with the same Idempotency-Key asks the provider
    under the same name, and may get the same session there.
    """
    own = KycVerification.objects.filter(user_id=going.account_id)
    sessions = own.filter(provider=Sandbox.name).values("provider_reference")
    SandboxVerification.objects.filter(pk__in=sessions).delete()
    freed = Concat("provider_reference", Value(f" reset {going.keeper_id}"))
    return own.update(user_id=going.keeper_id, provider_reference=freed)


def forget_banks(going: Reset) -> int:
    """Delete the items at the sandbox, so that the same public token links the same bank again."""
    items = BankItem.objects.filter(user_id=going.account_id, provider=Sandbox.name)
    SandboxItem.objects.filter(pk__in=items.values("item_id")).delete()
    deleted, _ = items.delete()
    return deleted


def let_go_of_people(going: Reset) -> int:
    """Hand over a partner's accounts, so that the same `external_id` is a new one, and what was sent to invite."""
    acting = TokenFamily.objects.filter(actor_id=going.account_id)
    acting.revoke(now=going.now)
    accounts = ManagedAccount.objects.filter(partner_id=going.account_id).update(partner_id=going.keeper_id)
    return accounts + Invitation.objects.filter(invited_by_id=going.account_id).update(
        invited_by_id=going.keeper_id, revoked_at=going.now
    )


def forget_requests(going: Reset) -> int:
    """Delete the account's lines of the log of requests, those that wait in this process, too."""
    LOG.flush()
    return RequestLine.objects.filter(account_id=going.account_id).delete()[0]


RECORDS = SandboxRecords(
    timers=(
        Timer(IdempotencyRecord, ("created_at",), ("owner",)),
        Timer(User, ("date_joined",), ("pk",)),
        Timer(ApiKey, ("created_at", "expires_at", "last_used_at"), ("owner",)),
        Timer(Invitation, ("created_at", "expires_at", "accepted_at", "revoked_at"), ("invited_by",)),
        Timer(ManagedAccount, ("created_at", "claimed_at"), ("user", "partner")),
        Timer(RefreshToken, ("expires_at",), ("family__user",)),
        Timer(Grant, ("expires",), ("user",)),
        Timer(KycVerification, ("created_at", "updated_at", "refreshed_at", "expires_at", "completed_at"), ("user",)),
    ),
    workers=(forget_checks,),
    handed_over=((BankItem, "user_id"), (BankAccount, "user_id"), (BankTransaction, "user_id")),
    tasks=(forget_verifications, forget_banks, let_go_of_people, forget_requests),
)
