"""Remove each guard of the product in turn, and check that a test fails: `python -m tests.guards [NAME …]`.

Each guard is removed from a copy of the tracked files, in which its test file runs.
"""

import subprocess
import sys
import tempfile
from importlib.util import cache_from_source
from pathlib import Path
from shutil import copyfile
from typing import NamedTuple

from tests.processes import ROOT

TESTS = ROOT / "tests"
_CAUGHT = 1  # This exit code of pytest means that a test failed.


class Guard(NamedTuple):
    """A text that occurs once in a file, its replacement, and the test file (below `tests/`) that must fail."""

    name: str
    file: str
    old: str
    new: str
    tests: str


GUARDS = (
    Guard(
        "value-of-another-row", "config/core/encryption.py",
        'return f"{meta.db_table}|{self.column}|{meta.pk.to_python(pk)}"', 'return f"{meta.db_table}|{self.column}"',
        "config/test_bound_values.py",
    ),
    Guard(
        "unbound-value", "config/core/encryption.py",
        "elif mode.read() == BOUND:", "elif False:", "config/test_bound_values.py",
    ),
    Guard(
        "second-factor-of-another-account", "identity/accounts/codes.py",
        'data.secret|{user_id}|', 'data.secret|', "config/test_bound_values.py",
    ),
    Guard(
        "fault-of-one-attempt", "config/webhooks/worker.py",
        "except Exception as fault:  # noqa: BLE001  a response must",
        "except MemoryError as fault:  # a response must", "webhooks/test_failed_items.py",
    ),
    Guard(
        "fault-of-one-lane", "config/webhooks/worker.py",
        'contain(fault, "lane", deliveries[0].endpoint.pk)',
        "raise", "webhooks/test_failed_items.py",
    ),
    Guard(
        "fault-of-one-outcome", "config/webhooks/worker.py",
        'contain(error, "delivery", "outcomes")',
        "raise", "webhooks/test_failed_items.py",
    ),
    Guard(
        "fault-of-one-event", "config/webhooks/publishing.py",
        'contain(error, KIND, "batch")',
        "raise", "webhooks/test_failed_items.py",
    ),
    Guard(
        "fault-of-one-mail", "config/mail/delivery.py",
        "except Exception as error:  # noqa: BLE001  adapters raise their own errors, and a",
        "except OSError as error:  # noqa: BLE001  adapters raise their own errors, and a", "mail/test_outgoing.py",
    ),
    Guard(
        "fault-of-one-item", "config/ops/failed_items.py",
        "errors.append(self.fail(key, error, now=now))",
        "raise", "flows/test_poisoned_items.py",
    ),
    Guard(
        "fault-of-one-staged-item", "staging/services.py",
        'contain(error, items.kind, "round")',
        "raise", "flows/test_poisoned_items.py",
    ),
    Guard(
        "fault-of-one-rule", "config/ops/pruning.py",
        '            fail("", error)',
        "            raise", "flows/test_poisoned_items.py",
    ),
    Guard(
        "three-kills", "config/ops/failed_items.py",
        "items.filter(kills__gte=KILLS_MAX, dead_at=None).update(dead_at=now)",
        "pass", "config/test_failed_items.py",
    ),
    Guard(
        "mark-of-a-batch", "config/ops/failed_items.py",
        "began_at + self._lease)",
        "self._reviewed_at + self._lease)", "config/test_failed_items.py",
    ),
    Guard(
        "damaged-cosignature", "ledger/log.py",
        "except (NoteError, OverflowError):",
        "except OverflowError:", "ledger/test_witnessing.py",
    ),
    Guard(
        "scope-of-an-operation", "config/api/permissions.py",
        "if not credential.carries(access):", "if False:", "test_permissions.py",
    ),
    Guard(
        "account-itself", "config/core/credentials.py",
        "FIRST_PARTY:\n            return self.is_first_party", "FIRST_PARTY:\n            return True",
        "test_permissions.py",
    ),
    Guard(
        "foreign-application", "credit/models/applications.py",
        "return Q(consumer_id=user_id) | (", "return Q(pk__isnull=False) | (", "credit/test_applications_get.py",
    ),
    Guard(
        "transition-table", "credit/core/machine.py",
        "REJECTED: {UNDER_REVIEW: Role.REVIEWER},", "REJECTED: {UNDER_REVIEW: Role.REVIEWER, APPROVED: Role.REVIEWER},",
        "credit/test_applications_status.py",
    ),
    Guard(
        "moved-meanwhile", "config/core/lifecycle.py",
        '{"pk": self.pk, "status": self.status, "moves": self.moves}', '{"pk": self.pk}',
        "credit/test_applications_status.py",
    ),
    Guard(
        "limited-credential-decides", "credit/models/decision_rules.py",
        "if actor.limited and (role is Role.REVIEWER or not is_consumer):", "if False:",
        "credit/test_applications_scopes.py",
    ),
    Guard(
        "answer-kept-under-key", "config/api/idempotency.py",
        "        key.store(outcome)\n", "        pass\n", "config/test_idempotency.py",
    ),
    Guard(
        "key-of-another-request", "config/api/idempotency.py",
        "if fingerprint != self.fingerprint:", "if False:", "config/test_idempotency.py",
    ),
    Guard(
        "key-of-a-payment-kept", "config/api/idempotency.py",
        "if not permanent and ", "if ", "payments/test_process.py",
    ),
    Guard(
        "fee-rounded", "payments/cards/fees.py",
        " + BASIS_POINTS // 2)", ")", "payments/test_money.py",
    ),
    Guard(
        "amount-charged", "payments/cards/processors/stripe.py",
        "if stated != (payment.amount_cents, payment.currency) or ", "if ", "payments/test_process_stripe.py",
    ),
    Guard(
        "payment-resumed", "payments/cards/services.py",
        "            key.reserve(str(payment.pk))\n", "            pass\n", "payments/test_process.py",
    ),
    Guard(
        "charge-looked-up", "payments/cards/services.py",
        "return payment.server_errors >= SERVER_ERRORS_MAX or now - payment.created_at > KEY_TRUSTED", "return False",
        "payments/test_process_stripe.py",
    ),
    Guard(
        "two-persons", "credit/review/services.py",
        "if pending.is_by(actor):", "if False:", "credit/test_pending_decision.py",
    ),
    Guard(
        "decision-on-what-was-seen", "credit/models/review.py",
        "if self.seen != application.reviewed_state:", "if False:", "credit/test_pending_decision.py",
    ),
    Guard(
        "processor-event-signed", "payments/cards/processors/stripe.py",
        "hmac.compare_digest(expected.encode(), digest.encode())", "True", "payments/test_processor_events.py",
    ),
    Guard(
        "signature-used-once", "identity/access/signatures.py",
        "raise credentials.SignatureReplayed from error", "pass", "identity/test_signatures.py",
    ),
    Guard(
        "record-signed-with-its-type", "credit/anchoring/record_keys.py",
        r'f"{DOMAIN}\n{report_type}\n{record}"', r'f"{DOMAIN}\n{record}"', "credit/test_forged_records.py",
    ),
    Guard(
        "token-issuer", "config/core/tokens.py",
        'claims.get("iss") == issuer', "True", "identity/test_jwt.py",
    ),
    Guard(
        "token-expiry", "config/core/tokens.py",
        'if claims["exp"] <= time.time():', "if False:", "identity/test_jwt.py",
    ),
    Guard(
        "inner-address", "config/clients/addresses.py",
        "    check_addresses(addresses, allow_private=target.allow_private)\n", "", "webhooks/test_address.py",
    ),
    Guard(
        "mask", "config/backoffice/personal.py",
        "setattr(record, name, mask(value) if is_text else None)", "pass", "backoffice/test_masked_everywhere.py",
    ),
    Guard(
        "second-factor-of-reviewers", "credit/models/decision_rules.py",
        "if actor.lacks_second_factor:", "if False:", "credit/test_pending_decision.py",
    ),
    Guard(
        "second-factor-of-readers", "credit/applications/services.py",
        "if application.consumer_id != actor.user.pk and actor.lacks_second_factor:", "if False:",
        "credit/test_foreign_reading.py",
    ),
    Guard(
        "unconfirmed-address", "identity/accounts/adapter.py",
        "if EmailAddress.objects.filter(user=email_address.user, verified=True).exists():", "if False:",
        "identity/test_account_pages.py",
    ),
    Guard(
        "code-of-an-authenticator", "identity/accounts/log_in.py",
        "if needs_code and not (", "if False and not (", "identity/test_auth_token.py",
    ),
    Guard(
        "nonce-of-the-issuer", "identity/oidc/client.py",
        "or not constant_time_compare(named, nonce)", "", "identity/test_staff_oidc.py",
    ),
    Guard(
        "address-verified-by-the-issuer", "identity/oidc/services.py",
        'claims.get("email_verified") is not True or', "", "identity/test_staff_oidc.py",
    ),
    Guard(
        "invitation-of-staff", "identity/oidc/services.py",
        "if invitation is None:", "if False:", "identity/test_staff_oidc.py",
    ),
    Guard(
        "superuser-from-the-issuer", "identity/oidc/services.py",
        "user.is_superuser or StaffIdentity", "StaffIdentity", "identity/test_staff_oidc.py",
    ),
    Guard(
        "password-of-staff", "identity/accounts/log_in.py",
        "user is None or not may_use_password(user)", "user is None", "identity/test_staff_sessions.py",
    ),
    Guard(
        "chain-of-audit-lines", "config/core/audit.py",
        'elif event["prev"] != self._digests[-1].hex():', "elif False:", "config/test_audit.py",
    ),
    Guard(
        "mails-to-named-addresses", "config/mail/outbox.py",
        "if named_by is not None:", "if False:", "identity/test_mails_named.py",
    ),
    Guard(
        "reserved-user-names", "identity/accounts/names.py",
        "if name.lower() in RESERVED:", "if False:", "identity/test_user_names.py",
    ),
    Guard(
        "pkce-of-public-clients", "identity/oauth/validator.py",
        "return bool(request.client.client_type == request.client.CLIENT_PUBLIC)", "return False",
        "identity/test_oauth_pages.py",
    ),
    Guard(
        "redirect-uri-of-the-code", "identity/oauth/validator.py",
        "if is_missing or redirect_uri != (stored or client.default_redirect_uri):", "if False:",
        "identity/test_oauth_token.py",
    ),
    Guard(
        "platform-report-types", "ledger/credentials.py",
        "if skeleton(kind) in _PLATFORM_SKELETONS and not self.is_platform:", "if False:",
        "ledger/test_platform_types.py",
    ),
    Guard(
        "log-only-grows", "ledger/merkle.py",
        "if old != old_root:", "if False:", "ledger/test_merkle.py",
    ),
    Guard(
        "document-content", "credit/documents/kinds.py",
        "if not content_type:", "if False:", "credit/test_documents_files.py",
    ),
    Guard(
        "answer-size", "config/api/pagination.py",
        "if room < 0 and rendered:", "if False:", "config/test_pagination.py",
    ),
    Guard(
        "heavy-slot-of-an-account", "config/api/heavy.py", "if not is_taken:", "if False:", "config/test_heavy.py",
    ),
    Guard(
        "heavy-slots-of-a-process", "config/api/heavy.py",
        "BoundedSemaphore(AT_ONCE)", "BoundedSemaphore(100)", "config/test_heavy.py",
    ),
    Guard(
        "storage-quota", "credit/documents/services.py",
        "if (used[name] or 0) + size > limit:", "if False:", "credit/test_documents_files.py",
    ),
    Guard(
        "rate-limit", "config/api/rate_limits.py",
        "granted = max(0, min(size, limit - (used - size)))", "granted = size", "config/test_rate_limits.py",
    ),
    Guard(
        "delivery-by-an-own-channel", "credit/api/notices/serializers.py",
        "        RECORDED, help_text", "        (*RECORDED, 'portal', 'email'), help_text",
        "credit/notices/test_notices_api.py",
    ),
    Guard(
        "delivery-by-a-used-channel", "credit/notices/services.py",
        "if channel not in settings.NOTICE_CHANNELS:", "if False:", "credit/notices/test_notices_api.py",
    ),
    Guard(
        "scope-of-a-scored-agreement", "credit/api/terms/views.py",
        "if agreement.includes_score and not", "if False and not", "credit/terms/test_agreement.py",
    ),
    Guard(
        "files-of-a-pdf", "credit/api/printing.py",
        'allowed_protocols=("data",)', "allowed_protocols=None", "credit/notices/test_notices_api.py",
    ),
    Guard(
        "part-in-a-counteroffer", "credit/models/notices.py",
        "*application.counteroffers.filter(offered_at__lte=until)", "*application.counteroffers.none()",
        "credit/notices/test_review_requests.py",
    ),
    Guard(
        "inviter-is-active", "identity/accounts/invitations.py",
        "return inviter is None or inviter.is_active", "return True", "identity/test_invitations.py",
    ),
    Guard(
        "proposer-may-review", "credit/models/review.py",
        "return self.proposed_by is None or application.is_reviewed_by(self.proposed_by)", "return True",
        "credit/test_pending_decision.py",
    ),
    Guard(
        "lender-can-notify", "credit/models/decision_rules.py",
        'if settings.REVIEW_POLICY == "open" or to not in _NOTIFIED', "if True or to not in _NOTIFIED",
        "credit/test_provider_decisions.py",
    ),
    Guard(
        "address-while-notices-are-owed", "credit/offers/providers.py",
        "if removed and _has_due_notices(provider):", "if False:", "credit/test_provider_decisions.py",
    ),
    Guard(
        "bundle-for-who-decides", "credit/api/scoring/score_views.py",
        "if application.consumer_id != request.user.pk and not application.is_reviewed_by(request.user):", "if False:",
        "credit/test_provider_decisions.py",
    ),
    Guard(
        "visible-reason", "credit/core/reasons.py",
        "and not shows_nothing(text)", "", "credit/test_provider_decisions.py",
    ),
    Guard(
        "counteroffer-on-unchanged-data", "credit/terms/counteroffers.py",
        " and offered.seen == application.reviewed_state", "", "credit/terms/test_counteroffers.py",
    ),
)  # fmt: skip


def main(names: list[str]) -> int:
    """Remove the named guards, or all guards; return 1 if the tests miss the removal of a guard."""
    chosen = [guard for guard in GUARDS if not names or guard.name in names]
    with tempfile.TemporaryDirectory(prefix="guards-") as folder:
        tree = Path(folder)
        _copy_tracked(tree)
        not_caught = [guard.name for guard in chosen if not _is_caught(guard, tree)]
    print(f"{len(chosen) - len(not_caught)} of {len(chosen)} caught", *not_caught)
    return 1 if not_caught or not chosen else 0


def _copy_tracked(tree: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        copyfile(ROOT / name, tree / name)


def _is_caught(guard: Guard, tree: Path) -> bool:
    """Run the tests of a guard without the guard. Raise ValueError if its text does not occur once in its file."""
    file, tests = tree / guard.file, f"tests/{guard.tests}"
    whole = file.read_text()
    if whole.count(guard.old) != 1:
        raise ValueError(f"{guard.name}: its text stands {whole.count(guard.old)} times in {guard.file}")
    _write(file, whole.replace(guard.old, guard.new))
    command = [sys.executable, "-m", "pytest", "-n", "0", "-x", "-q", "--tb=no", tests]
    ended = subprocess.run(command, cwd=tree, check=False, capture_output=True, text=True)
    _write(file, whole)
    failed = [line.partition(" - ")[0] for line in ended.stdout.splitlines() if line.startswith("FAILED ")]
    is_caught = ended.returncode == _CAUGHT and bool(failed)
    print(
        "caught    " if is_caught else "NOT CAUGHT", guard.name, *(failed or ended.stdout.splitlines()[-1:]), flush=True
    )
    return is_caught


def _write(file: Path, text: str) -> None:
    """Write a module, and delete its cached bytecode, which could have the same timestamp."""
    file.write_text(text)
    Path(cache_from_source(str(file))).unlink(missing_ok=True)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
