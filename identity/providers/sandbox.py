"""The built-in open-banking vendor: deterministic and offline.

A page of the platform completes verifications (`identity.kyc.views`). Bank data depends only on the public token and
the day (`sandbox_bank`), so the same token creates the same accounts on every machine:

- `public-sandbox-<text>` can be exchanged once. If the text begins with `login-required`, the item requires a new
  log-in. Creating a link token in update mode simulates the log-in.
- The words `gig` and `overdrawn` in `<text>`, between hyphens, select a persona. The default persona has a salary.
- `access-sandbox-demo` is always valid. Any other access token is valid until its item is removed.
"""

import secrets
from collections.abc import Mapping
from datetime import date, datetime, timedelta

from django.conf import settings
from django.utils import timezone

from config.core.credentials import InvalidSignature
from config.core.digest import digest_of
from config.core.ids import first_or
from identity.providers import base, sandbox_bank
from identity.providers.base import Account, LinkedItem, LinkToken, NameMatch, Progress, Transaction, VerificationState
from identity.providers.models import SandboxItem, SandboxVerification

DEMO_TOKEN = "access-sandbox-demo"  # noqa: S105  public, and valid only for sandbox data

_PUBLIC_PREFIX = "public-sandbox-"
_STEPS = ("accept_tos", "kyc_check", "documentary_verification", "selfie_check")
# Plaid's names for the outcomes, so that clients get the same values from both vendors.
_WORD_OF = {
    Progress.WAITING: "active",
    Progress.PASSED: "success",
    Progress.FAILED: "failed",
    Progress.REVIEW: "pending_review",
}

_NAME_MATCH_OF = {
    Progress.PASSED: NameMatch.MATCH,
    Progress.REVIEW: NameMatch.PARTIAL,
    Progress.FAILED: NameMatch.NO_MATCH,
}


class Sandbox:
    name = "sandbox"

    def create_verification(
        self, *, client_user_id: str, template_id: str | None, redirect_uri: str | None
    ) -> VerificationState:
        digest = digest_of(f"{client_user_id}\n{template_id}")
        fresh = {"page_token": secrets.token_urlsafe(24), "redirect_uri": redirect_uri, "created_at": timezone.now()}
        reference = f"idv_sandbox_{digest[:24]}"
        session, _ = SandboxVerification.objects.get_or_create(reference=reference, defaults=fresh)
        return _state_of(session)

    def read_verification(self, reference: str) -> VerificationState:
        session = first_or(
            SandboxVerification.objects.filter(pk=reference), base.BankingUnavailable("the verification is unknown")
        )
        return _state_of(session)

    def create_link_token(self, *, user_id: str, access_token: str | None = None) -> LinkToken:  # noqa: ARG002
        if access_token is not None:
            SandboxItem.objects.filter(access_digest=digest_of(access_token)).update(login_required=False)
        return LinkToken(f"link-sandbox-{secrets.token_hex(16)}", timezone.now() + timedelta(hours=4))

    def exchange_public_token(self, public_token: str) -> LinkedItem:
        if not public_token.startswith(_PUBLIC_PREFIX) or public_token == _PUBLIC_PREFIX:
            raise base.TokenRefused
        digest = digest_of(public_token)
        access_token = f"access-sandbox-{secrets.token_hex(16)}"
        item, is_new = SandboxItem.objects.get_or_create(
            public_digest=digest,
            defaults={
                "item_id": sandbox_bank.item_id_of(public_token, public_token.removeprefix(_PUBLIC_PREFIX)),
                "access_digest": digest_of(access_token),
                "login_required": public_token.startswith("public-sandbox-login-required"),
                "created_at": timezone.now(),
            },
        )
        if not is_new:
            raise base.TokenRefused
        return LinkedItem(access_token=access_token, item_id=item.item_id)

    def list_accounts(self, access_token: str) -> list[Account]:
        return sandbox_bank.accounts_of(self._item_of(access_token), timezone.now().date())

    def list_transactions(self, access_token: str, *, since: date | None = None) -> list[Transaction]:
        bookings = sandbox_bank.transactions_of(self._item_of(access_token), timezone.now().date())
        return base.booked_since(bookings, since)

    def remove_item(self, access_token: str) -> None:
        live = SandboxItem.objects.filter(access_digest=digest_of(access_token), removed_at__isnull=True)
        live.update(removed_at=timezone.now())

    def verify_event(self, headers: Mapping[str, str], body: bytes, *, now: datetime) -> str | None:  # noqa: ARG002
        raise InvalidSignature("The sandbox sends no events.")

    def _item_of(self, access_token: str) -> str:
        if access_token == DEMO_TOKEN:
            return "item-sandbox-demo"
        item = first_or(
            SandboxItem.objects.filter(access_digest=digest_of(access_token), removed_at__isnull=True),
            base.TokenRefused,
        )
        if item.login_required:
            raise base.LoginRequired
        return item.item_id


def complete_verification(page_token: str, progress: Progress, *, now: datetime) -> VerificationState:
    """Complete a verification with an outcome, at most once. Return the vendor's state."""
    waiting = SandboxVerification.objects.filter(page_token=page_token, progress=Progress.WAITING)
    waiting.update(progress=progress, completed_at=now)
    return _state_of(SandboxVerification.objects.get(page_token=page_token))


def _state_of(session: SandboxVerification) -> VerificationState:
    progress = Progress(session.progress)
    steps = dict.fromkeys(_STEPS, "waiting_for_prerequisite" if progress is Progress.WAITING else "success")
    # The last step contains the outcome. Before the outcome, the first step waits for the applicant.
    steps[_STEPS[0 if progress is Progress.WAITING else -1]] = _WORD_OF[progress]
    return VerificationState(
        reference=session.reference,
        progress=progress,
        status=_WORD_OF[progress],
        steps=steps,
        hosted_url=f"{settings.BASE_URL}/kyc/sandbox/{session.page_token}",
        name_match=_NAME_MATCH_OF.get(progress, NameMatch.UNKNOWN),
    )
