"""Test that `manage.py prune` deletes only expired records."""

import uuid
from datetime import timedelta

from django.contrib.sessions.models import Session
from django.utils import timezone
from oauth2_provider.models import Grant

from config.api.models import IdempotencyRecord, RateCounter
from config.ops import pruning
from config.webhooks.models import Event
from identity.access import tokens
from identity.access.keys import create_api_key
from identity.models import OAuthClient, RefreshToken, TokenFamily, UsedSignature
from tests.commands import run_json


def remember(user, *, hours_ago):
    return IdempotencyRecord.objects.create(
        owner=user, key=uuid.uuid4(), fingerprint="f" * 64, status=200, body=b"{}",
        created_at=timezone.now() - timedelta(hours=hours_ago),
    )  # fmt: skip


def test_prune_retains_stored_responses_for_72_hours(user):
    remember(user, hours_ago=73)
    kept = remember(user, hours_ago=71)
    assert run_json("prune")["idempotency_records"] == 1
    assert list(IdempotencyRecord.objects.all()) == [kept]


def test_prune_deletes_more_than_one_batch(user, monkeypatch):
    monkeypatch.setattr(pruning, "BATCH", 2)
    for _ in range(5):
        remember(user, hours_ago=80)
    assert run_json("prune")["idempotency_records"] == 5
    assert run_json("prune")["idempotency_records"] == 0


def test_prune_deletes_only_expired_counters_tokens_signatures_and_sessions(db, user):
    window = int(timezone.now().timestamp() // 60) + 1  # The minute can end while the test runs.
    RateCounter.objects.all().delete()  # A server of an earlier test may have counted a request after that test.
    RateCounter.objects.create(bucket="read:a", window=window, used=3)
    RateCounter.objects.create(bucket="read:a", window=window - 5, used=3)
    assert run_json("prune")["rate_counters"] == 1
    assert RateCounter.objects.get().window == window
    now = timezone.now()
    tokens.start_family(user=user, now=now)
    tokens.start_family(user=user, now=now - timedelta(days=60))
    counts = run_json("prune")
    assert (counts["refresh_tokens"], counts["token_families"]) == (1, 1)
    assert RefreshToken.objects.count() == TokenFamily.objects.count() == 1
    now = timezone.now()
    UsedSignature.objects.create(digest="a" * 64, expires_at=now - timedelta(seconds=1))
    UsedSignature.objects.create(digest="b" * 64, expires_at=now + timedelta(seconds=60))
    assert run_json("prune")["used_signatures"] == 1
    assert UsedSignature.objects.get().digest == "b" * 64
    now = timezone.now()
    client = OAuthClient.objects.create(
        name="shop", client_type="public", authorization_grant_type="authorization-code"
    )
    for name, moment in (("old", now - timedelta(seconds=1)), ("new", now + timedelta(minutes=1))):
        Session.objects.create(session_key=name, session_data="", expire_date=moment)
        Grant.objects.create(user=user, code=name, application=client, expires=moment, redirect_uri="https://a.example")
    counts = run_json("prune")
    assert (counts["sessions"], counts["oauth_grants"]) == (1, 1)
    assert Session.objects.get().session_key == "new"
    assert Grant.objects.get().code == "new"


def test_prune_emits_one_event_for_an_api_key_that_expires_soon(user):
    now = timezone.now()
    soon = create_api_key(owner=user, name="soon", scopes=None, now=now, expires_at=now + timedelta(days=13)).record
    create_api_key(owner=user, name="later", scopes=None, now=now, expires_at=now + timedelta(days=15))
    assert run_json("prune")["api_keys_announced"] == 1
    assert run_json("prune")["api_keys_announced"] == 0
    event = Event.objects.get(type="api_key.expiring")
    assert (event.account_id, event.object["api_key_id"]) == (user.pk, soon.pk)
