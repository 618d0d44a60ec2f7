"""Take out one guard of the product after another, and see that a test fails: `python -m tests.guards [NAME …]`.

Each is taken out of a copy of the tracked files, in which the test file named beside it is run.
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
_CAUGHT = 1  # pytest's exit code: tests ran, and one failed


class Guard(NamedTuple):
    """A text that stands once in a file, what takes its place, and the test file (below `tests/`) that must fail."""

    name: str
    file: str
    old: str
    new: str
    tests: str


GUARDS = (
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
        "return Q(consumer_id=user_id) | (~Q", "return Q(pk__isnull=False) | (~Q", "credit/test_applications_get.py",
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
        "limited-credential-decides", "credit/models/applications.py",
        "if actor.limited and (role is Role.REVIEWER or not is_consumer):", "if False:",
        "credit/test_applications_scopes.py",
    ),
    Guard(
        "answer-kept-under-key", "config/api/idempotency.py",
        "            key.store(outcome)\n", "            pass\n", "config/test_idempotency.py",
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
        " + BASIS_POINTS // 2)", ")", "payments/test_calculate_fee.py",
    ),
    Guard(
        "amount-charged", "payments/cards/processors/stripe.py",
        "if told != (payment.amount_cents, payment.currency) or ", "if ", "payments/test_process_stripe_truth.py",
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
        "decision-on-what-was-seen", "credit/review/services.py",
        "return proposal if proposal is not None and proposal.seen == application.reviewed_state else None",
        "return proposal", "credit/test_pending_decision.py",
    ),
    Guard(
        "processor-event-signed", "payments/cards/processors/stripe.py",
        "hmac.compare_digest(expected.encode(), given.encode())", "True", "payments/test_processor_events.py",
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
        "token-issuer", "config/api/tokens.py",
        'claims.get("iss") == issuer', "True", "identity/test_jwt.py",
    ),
    Guard(
        "token-expiry", "config/api/tokens.py",
        'if claims["exp"] <= time.time():', "if False:", "identity/test_jwt.py",
    ),
    Guard(
        "inner-address", "config/clients/addresses.py",
        "    check_addresses(addresses, allow_private=target.allow_private)\n", "", "webhooks/test_address.py",
    ),
    Guard(
        "mask", "config/backoffice/personal.py",
        "setattr(record, name, mask(getattr(record, name)))", "pass", "backoffice/test_masked_everywhere.py",
    ),
    Guard(
        "second-factor-of-staff", "credit/models/applications.py",
        "if actor.lacks_second_factor and (", "if False and (", "credit/test_pending_decision.py",
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
        "document-content", "credit/documents/services.py",
        "if content.startswith(beginning):", "if True:", "credit/test_documents_file.py",
    ),
    Guard(
        "answer-size", "config/api/pagination.py",
        "if room < 0 and rendered:", "if False:", "config/test_pagination.py",
    ),
    Guard(
        "rate-limit", "config/api/rate_limits.py",
        "granted = max(0, min(size, limit - (used - size)))", "granted = size", "config/test_rate_limits.py",
    ),
)  # fmt: skip


def main(names: list[str]) -> int:
    """Take out the named guards, or all; return 1 when one is not missed."""
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
    """Run the guard's tests without it; raises ValueError when its text does not stand once in its file."""
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
    """Write a module, and let nobody take what was compiled a second ago for it."""
    file.write_text(text)
    Path(cache_from_source(str(file))).unlink(missing_ok=True)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
