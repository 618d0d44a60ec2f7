"""Test that anchored records have only hashes of reasons, IDs, and results, which an erasure makes unreadable."""

import json
from base64 import b64decode
from datetime import timedelta
from hashlib import sha256
from io import BytesIO, StringIO
from zipfile import ZipFile

import pytest
from django.core.management import call_command
from django.utils import timezone

from config.core.export import write_export
from config.core.json_text import canonical_json
from credit.anchoring.services import bundle_of
from credit.anchoring.verify_decision import FAIL, SKIPPED, verify
from credit.models import Application, DecisionAnchor
from identity.accounts.erasure import erase
from identity.accounts.models import Erasure
from tests.api import client_of
from tests.credit.scoring.bundles import members_of, text
from tests.credit.scoring.submitting import SAYS_POOR, draft_for, scored_offer, submit
from tests.credit.support import make_reviewer, move
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db
REASON, OTHER_TEXT = "Spoke to her employer, Acme Corp", "Income from Acme ended"
BECAUSE = {"reasons": ["income_insufficient", {"code": "other", "text": OTHER_TEXT}]}


@pytest.fixture
def reviewer():
    return make_reviewer(username="rita.reviewer")


@pytest.fixture
def decided(api, user, reviewer, settings):
    """Return an application that a reviewer rejected with their own texts."""
    settings.ANCHOR_DECISIONS = True
    application = draft_for(scored_offer()[0], user, SAYS_POOR)
    assert submit(api, application).status_code == 200
    reviewers = client_of(reviewer)
    assert move(reviewers, application, "under_review").status_code == 200
    body = {"status": "rejected", "updated_by": reviewer.username, "reason": REASON, "metadata": BECAUSE}
    assert reviewers.replace(f"/applications/{application.pk}/status", body).status_code == 200
    return application


def record_of(application):
    return DecisionAnchor.objects.get(application=application, history__isnull=False)


def readable(user, reviewer):
    """Return the texts that no record may have in the clear."""
    ids = [f'"{user.pk}"', f'"{reviewer.pk}"', user.username, reviewer.username]
    return [*ids, REASON, OTHER_TEXT, "income_insufficient", '"refer"']


def read_bundle(client, application):
    return client.read(f"/applications/{application.pk}/decision-bundle")


def test_decision_record_contains_no_plaintext_no_ids_and_no_repeated_hashes(decided, user, reviewer):
    record = record_of(decided)
    assert [word for word in readable(user, reviewer) if word in record.record] == []
    assert REASON in record.openings
    reopened = move(client_of(reviewer), decided, "under_review", updated_by=reviewer.username, reason=REASON)
    assert reopened.status_code == 200, reopened.content
    first, second = (json.loads(row.record)["hashes"] for row in DecisionAnchor.objects.filter(history__isnull=False))
    assert not set(first.values()) & set(second.values())


def test_only_applicant_and_reviewer_can_read_the_texts_of_a_decision_record(api, decided, user, reviewer):
    for path in ("decision-bundle", "proof"):
        assert client_of(UserFactory()).read(f"/applications/{decided.pk}/{path}").status_code == 404
    own, reviewers = read_bundle(api, decided), read_bundle(client_of(reviewer), decided)
    history = api.read(f"/applications/{decided.pk}/history").json()["history"][-1]
    for response in (own, reviewers):
        members = members_of(response.json())
        assert (members["reason"], members["changed_by"]) == (REASON, reviewer.username)
        assert (history["reason"], history["changed_by"]) == (REASON, reviewer.username)
        assert {"consumer_id": str(user.pk), **BECAUSE, "outcome": "refer"}.items() <= members.items()
        assert FAIL not in {step.state for step in verify(response.content)}


def erased(user):
    """Erase the account, and after every retention period the retained data."""
    Application.objects.update(status="withdrawn")
    call_command("erase_subject", str(user.pk), stdout=StringIO())
    record = Erasure.objects.get()
    for years in (6, 12):
        erase(record, now=timezone.now() + timedelta(days=years * 366))
    assert [each["ground"] for each in record.kept] == ["decision_records"]


def copy_of(user):
    archive = BytesIO()
    write_export(user.pk, archive, now=timezone.now())
    with ZipFile(archive) as copies:
        return "".join(copies.read(name).decode() for name in copies.namelist())


def test_erasure_removes_readable_text_and_nonces_from_the_record_the_bundle_and_the_export(decided, user, reviewer):
    before = record_of(decided)
    words = readable(user, reviewer)[2:]
    assert REASON in copy_of(user)
    hashes = set(json.loads(before.record)["hashes"].values())
    nonce = b64decode(json.loads(before.openings)["consumer_id"]["nonce"])
    candidates = [str(number) for number in range(user.pk + 20)]
    # This check proves that the search finds a value by its nonce.
    assert len(found_by(candidates, [nonce], hashes)) == 1
    erased(user)
    after = record_of(decided)
    assert (after.record, after.signature, after.openings) == (before.record, before.signature, None)
    strings = [str(getattr(after, field.attname)) for field in after._meta.concrete_fields]
    strings += [piece for text_of_row in strings for piece in text_of_row.replace('"', "\n").split()]
    raws = [raw for string in strings for raw in (string.encode(), *decoded(string))]
    assert found_by(candidates, [b"", bytes(32), *raws], hashes) == []
    decided.refresh_from_db()
    left = bundle_of(decided)
    of_the_person = {**left, "definition": None, "certificate": None}
    for content in (after.record, json.dumps(of_the_person), copy_of(user)):
        assert [word for word in words if word in content] == []
    states_by_name = {step.name: step.state for step in verify(json.dumps(left).encode())}
    assert (states_by_name["record"], states_by_name["openings"]) == ("ok", SKIPPED)
    assert FAIL not in states_by_name.values()


def decoded(string):
    for decode in (bytes.fromhex, b64decode):
        try:
            yield decode(string)
        except ValueError:
            continue


def found_by(candidates, nonces, hashes):
    values = [canonical_json(candidate) for candidate in candidates]
    return [value for value in values for nonce in nonces if sha256(nonce + value).hexdigest() in hashes]


def test_decision_record_of_version_4_without_hashes_is_returned_and_fails_verification(api, decided, user):
    """Installations that followed the development version have such records."""
    row = record_of(decided)
    members = members_of({"record": row.record, "openings": row.openings})
    DecisionAnchor.objects.filter(pk=row.pk).update(record=text(members), openings=None)
    response = read_bundle(api, decided)
    assert (response.status_code, response.json()["openings"]) == (200, None)
    assert [(step.name, step.state) for step in verify(response.content)][-1] == ("record", FAIL)
    assert api.read(f"/applications/{decided.pk}/proof").json()["record"] == text(members)
    assert copy_of(user)
