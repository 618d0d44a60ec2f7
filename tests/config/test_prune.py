"""`manage.py prune`: forgets what is over and nothing else."""

import json
import uuid
from datetime import timedelta
from io import StringIO

from axes.models import AccessLog
from django.apps import apps
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.utils import timezone
from oauth2_provider.models import Grant

from config.api.models import IdempotencyRecord, RateCounter
from config.ops import pruning
from config.webhooks.models import Event
from identity.access import tokens
from identity.access.keys import create_api_key
from identity.models import OAuthClient, RefreshToken, TokenFamily, UsedSignature

# Tables whose rows are not for `prune` to delete, and why.
KEPT = {
    "admin.LogEntry": "evidence of who did what",
    "api.UnreadableValue": "config.ops.unreadable.look_again takes off what opens again",
    "auth.Group": "part of the set-up",
    "auth.Permission": "part of the set-up",
    "backoffice.Assignment": "ends with the work",
    "backoffice.Authenticator": "until it is reset",
    "backoffice.DataAccess": "evidence of who saw whose data",
    "backoffice.Note": "what staff knew and when",
    "backoffice.ReplyTemplate": "removed by staff",
    "backoffice.SavedView": "removed by its owner",
    "backoffice.Proposal": "evidence of who proposed a decision",
    "claims.Claim": "a deleted one is a tombstone",
    "claims.ClaimHistory": "a story that only grows",
    "contenttypes.ContentType": "part of the set-up",
    "credit.Acceptance": "evidence of what a person agreed to",
    "credit.Application": "the record that this platform is for",
    "credit.ApplicationHistory": "a story that only grows",
    "credit.ApplicationRevision": "a story that only grows",
    "credit.DecisionAnchor": "proves when a decision was made",
    "credit.DocumentFile": "a story that only grows",
    "credit.Offer": "applications name it, active or not",
    "credit.Provider": "an account's name for itself",
    "credit.ProviderMember": "taken away by staff",
    "credit.ModelVersion": "scores and decisions name it",
    "credit.ModelVersionHistory": "a story that only grows",
    "credit.RequestedDocument": "part of an application",
    "credit.Score": "evidence of what a model made of a person",
    "credit.ScoreFacts": "erase_facts takes a person's out",
    "credit.ScoringModel": "scores and decisions name it",
    "credit.StoredFile": "document_storage.forget_abandoned deletes what was never kept",
    "identity.ApiKey": "what a key did names it, revoked or not",
    "identity.BankAccount": "approved by its owner",
    "identity.BankItem": "until its owner unlinks it",
    "identity.BankTransaction": "approved by its owner",
    "identity.KycVerification": "evidence of who was identified, and how",
    "identity.KycVerificationHistory": "a story that only grows",
    "identity.OAuthClient": "made and removed by people",
    "identity.SandboxItem": "the sandbox's memory",
    "identity.SandboxVerification": "the sandbox's memory",
    "identity.SigningKey": "a handful, by rotation",
    "identity.User": "accounts are disabled, never deleted",
    "ledger.Block": "the log only grows",
    "ledger.Cosignature": "the log only grows",
    "ledger.Entry": "the log only grows",
    "ledger.Tile": "the log only grows",
    "ledger.WitnessOutcome": "one row for each witness",
    "payments.CryptoPayment": "money moved, or did not",
    "payments.CryptoPaymentHistory": "a story that only grows",
    "payments.CryptoTransaction": "a story that only grows",
    "payments.CustodyAccount": "holds what is somebody's",
    "payments.Payment": "money moved, or did not",
    "payments.PaymentAttempt": "a story that only grows",
    "payments.PaymentMethod": "until its owner removes it",
    "payments.ProcessorEvent": "a story that only grows",
    "payments.SandboxCharge": "the sandbox's memory",
    "payments.Wallet": "a disconnected one is named by payments",
    "staging.Approval": "evidence of a person's yes",
    "staging.Note": "permanent once approved",
    "staging.StagedItem": "decided ones say where a permanent record came from",
    "webhooks.Endpoint": "what was sent names it; a deleted one has no secret any more",
    "webhooks.Event": "the feed has no gaps",
    "webhooks.EventFeed": "one row for each account",
}


def prune():
    out = StringIO()
    call_command("prune", as_json=True, stdout=out)
    return json.loads(out.getvalue().splitlines()[-1])


def remember(user, *, hours_ago):
    return IdempotencyRecord.objects.create(
        owner=user,
        key=uuid.uuid4(),
        fingerprint="f" * 64,
        status=200,
        body=b"{}",
        created_at=timezone.now() - timedelta(hours=hours_ago),
    )


def test_stored_answers_are_kept_for_72_hours(user):
    remember(user, hours_ago=73)
    kept = remember(user, hours_ago=71)
    assert prune()["idempotency_records"] == 1
    assert list(IdempotencyRecord.objects.all()) == [kept]


def test_more_than_one_batch_is_forgotten(user, monkeypatch):
    monkeypatch.setattr(pruning, "BATCH", 2)
    for _ in range(5):
        remember(user, hours_ago=80)
    assert prune()["idempotency_records"] == 5
    assert prune()["idempotency_records"] == 0


def test_counters_of_this_minute_are_kept(db):
    window = int(timezone.now().timestamp() // 60)
    RateCounter.objects.create(bucket="read:a", window=window, used=3)
    RateCounter.objects.create(bucket="read:a", window=window - 5, used=3)
    assert prune()["rate_counters"] == 1
    assert RateCounter.objects.get().window == window


def test_a_family_is_kept_as_long_as_it_has_a_token(user):
    now = timezone.now()
    tokens.start_family(user=user, now=now)
    tokens.start_family(user=user, now=now - timedelta(days=60))
    counts = prune()
    assert (counts["refresh_tokens"], counts["token_families"]) == (1, 1)
    assert RefreshToken.objects.count() == TokenFamily.objects.count() == 1


def test_a_signature_is_kept_while_it_could_be_replayed(db):
    now = timezone.now()
    UsedSignature.objects.create(digest="a" * 64, expires_at=now - timedelta(seconds=1))
    UsedSignature.objects.create(digest="b" * 64, expires_at=now + timedelta(seconds=60))
    assert prune()["used_signatures"] == 1
    assert UsedSignature.objects.get().digest == "b" * 64


def test_a_key_that_ends_soon_is_announced_once(user):
    now = timezone.now()
    soon = create_api_key(owner=user, name="soon", scopes=None, now=now, expires_at=now + timedelta(days=13)).record
    create_api_key(owner=user, name="later", scopes=None, now=now, expires_at=now + timedelta(days=15))
    assert prune()["api_keys_announced"] == 1
    assert prune()["api_keys_announced"] == 0
    event = Event.objects.get(type="api_key.expiring")
    assert (event.account_id, event.object["api_key_id"]) == (user.pk, soon.pk)


def test_every_table_has_an_end_or_is_kept_on_purpose():
    without_rule = {model._meta.label for model in apps.get_models() if model not in pruning.rules}
    assert without_rule == set(KEPT)


def test_log_ins_end_with_their_time(user):
    now = timezone.now()
    client = OAuthClient.objects.create(
        name="shop", client_type="public", authorization_grant_type="authorization-code"
    )
    for name, moment in (("old", now - timedelta(seconds=1)), ("new", now + timedelta(minutes=1))):
        Session.objects.create(session_key=name, session_data="", expire_date=moment)
        Grant.objects.create(user=user, code=name, application=client, expires=moment, redirect_uri="https://a.example")
    counts = prune()
    assert (counts["sessions"], counts["oauth_grants"]) == (1, 1)
    assert Session.objects.get().session_key == "new"
    assert Grant.objects.get().code == "new"


def test_logs_of_log_ins_are_kept_for_90_days(db):
    for days in (89, 91):
        AccessLog.objects.create(username="rosa", path_info=str(days))
        AccessLog.objects.filter(path_info=str(days)).update(attempt_time=timezone.now() - timedelta(days=days))
    assert prune()["log_ins"] == 1
    assert AccessLog.objects.get().path_info == "89"
