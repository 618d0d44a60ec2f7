"""Test the way back of `docs/operate/keys.md` after the loss of all encryption keys."""

import json
from datetime import timedelta

import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command
from django.utils import timezone

from config.ops.rotation import check_keys_open_anything
from credit.anchoring import record_keys
from credit.models import DecisionAnchor, RecordKey
from tests.api import assert_error, client_of
from tests.credit.applicants import PERSON
from tests.credit.support import make_reviewer
from tests.factories import ApplicationFactory

pytestmark = pytest.mark.django_db


def application_of(user):
    application = ApplicationFactory(consumer=user, status="under_review", provider_id=700)
    body = {"updated_by": str(user.pk), "applicants": [PERSON]}
    assert client_of(user).replace(f"/applications/{application.pk}", body).status_code == 200
    return application


@pytest.fixture
def reviewer(settings):
    settings.ANCHOR_DECISIONS = True
    return make_reviewer(username="rita")


def decide(application, reviewer):
    body = {"status": "approved", "updated_by": str(reviewer.pk)}
    return client_of(reviewer).replace(f"/applications/{application.pk}/status", body)


def lose_keys(settings):
    settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]


def test_installation_with_lost_encryption_keys_can_decide_applications_after_key_rotations(settings, user, reviewer):
    record_keys.rotate(now=timezone.now() - timedelta(minutes=5))
    decided, waiting = application_of(user), application_of(user)
    assert decide(decided, reviewer).status_code == 200
    lose_keys(settings)
    assert check_keys_open_anything() != []
    assert_error(decide(waiting, reviewer), 503, "E5030")
    call_command("rotate_signing_key", as_json=True)
    call_command("rotate_record_key", as_json=True)
    assert check_keys_open_anything() == []
    fresh = RecordKey.objects.last()
    announcement = json.loads(DecisionAnchor.objects.get(record_key=fresh).record)
    assert announcement["replaces"] == RecordKey.objects.get(number=1).key_id
    with pytest.raises(CommandError, match="because no key decrypts them"):
        call_command("rotate_encryption_key", discard_lost=True, as_json=True)
    RecordKey.objects.filter(pk=fresh.pk).update(valid_from=timezone.now())
    assert client_of(user).read(f"/applications/{decided.pk}").json()["applicants"] is None
    assert len(client_of(user).read(f"/applications?consumer_id={user.pk}").json()) == 2
    body = {"updated_by": str(user.pk), "applicants": [PERSON]}
    assert client_of(user).replace(f"/applications/{waiting.pk}", body).status_code == 200
    assert decide(waiting, reviewer).status_code == 200
    anchor = DecisionAnchor.objects.order_by("pk").last()
    assert anchor.signed_by == fresh


def test_record_key_created_after_the_loss_of_all_earlier_keys_signs_its_own_announcement(
    settings, tmp_path, user, reviewer
):
    assert decide(application_of(user), reviewer).status_code == 200
    lose_keys(settings)
    RecordKey.objects.update(public_key="A" * 43 + "=")  # DECISION_SIGNING_KEY is another key
    call_command("rotate_record_key", as_json=True)
    fresh = RecordKey.objects.last()
    anchor = DecisionAnchor.objects.get(record_key=fresh)
    assert (anchor.signed_by, json.loads(anchor.record)["replaces"]) == (fresh, None)


def test_encryption_key_rotation_without_the_option_discard_lost_deletes_no_values(settings, user, reviewer):
    application = application_of(user)
    before = settings.FIELD_ENCRYPTION_KEYS
    lose_keys(settings)
    with pytest.raises(CommandError):
        call_command("rotate_encryption_key", as_json=True)
    settings.FIELD_ENCRYPTION_KEYS = [*settings.FIELD_ENCRYPTION_KEYS, *before]
    assert client_of(user).read(f"/applications/{application.pk}").json()["applicants"][0]["legal_name"]
