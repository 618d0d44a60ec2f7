"""Test creation, publication, and retirement of model versions, with history, events, and anchored records."""

import json
from hashlib import sha256

import pytest
from django.db import transaction
from django.utils import timezone

from config.core.json_text import canonical_json
from config.core.lifecycle import ReviewerRequired
from config.webhooks.models import Event
from credit.core.errors import InvalidVersionTransition
from credit.models import DecisionAnchor, ModelVersion
from credit.scoring import versions
from credit.scoring.scores import live_versions
from tests.credit.scoring.cards import DEFINITION
from tests.credit.scoring.making import actor, join, make_model, make_version

pytestmark = pytest.mark.django_db


def publish(version, role, by):
    with transaction.atomic():
        return versions.publish(version, role=role, actor=actor(by), now=timezone.now())


def roles(model):
    """Return (status, role) of each version, in order."""
    return list(ModelVersion.objects.filter(model=model).values_list("status", "role"))


def test_model_version_stores_its_definition_and_hash_and_the_next_number(user):
    model, other = make_model(user), make_model(user)
    assert [make_version(of).number for of in (model, model, other)] == [1, 2, 1]
    version = ModelVersion.objects.get(model=other)
    assert version.definition == DEFINITION
    assert version.definition_sha256 == sha256(canonical_json(DEFINITION)).hexdigest()
    assert (version.status, version.role, version.made_by) == ("draft", "", user)


def test_new_champion_version_turns_the_previous_champion_into_a_challenger(user):
    model = make_model(user)
    first, second = make_version(model, role="champion"), make_version(model, base_points=510)
    publish(second, "champion", user)
    assert roles(model) == [("published", "challenger"), ("published", "champion")]
    assert [row.metadata for row in first.history.all()] == [{"role": "champion"}, {"role": "challenger"}]
    publish(first, "champion", user)
    assert roles(model) == [("published", "champion"), ("published", "challenger")]


def test_published_model_version_changes_only_if_published_again_in_another_role(user):
    model = make_model(user)
    version = make_version(model, role="champion")
    before = (Event.objects.count(), DecisionAnchor.objects.count())
    publish(version, "champion", user)
    assert version.history.count() == 1
    assert (Event.objects.count(), DecisionAnchor.objects.count()) == before
    publish(version, "challenger", user)
    assert roles(model) == [("published", "challenger")]
    assert list(live_versions(model.pk, model.provider_id)) == []


def test_rejected_model_version_publication_does_not_replace_the_champion(user):
    model = make_model(user)
    make_version(model, role="champion")
    retired = make_version(model)
    versions.retire(retired, actor=actor(user), now=timezone.now())
    with pytest.raises(InvalidVersionTransition):
        publish(retired, "champion", user)
    assert roles(model) == [("published", "champion"), ("retired", "")]


class TestFourEyes:
    @pytest.fixture(autouse=True)
    def _four_eyes(self, settings):
        settings.REVIEW_POLICY = "four_eyes"

    def test_author_cannot_publish_their_own_model_version_or_change_its_role_to_champion(self, user):
        model = make_model(user)
        version = make_version(model)
        for role in ("champion", "challenger"):
            with pytest.raises(ReviewerRequired):
                publish(version, role, user)
        publish(version, "challenger", join(model.provider))
        with pytest.raises(ReviewerRequired):
            publish(version, "champion", user)

    def test_author_of_the_champion_can_publish_another_authors_model_version(self, user):
        model = make_model(user)
        colleague = join(model.provider)
        first, second = make_version(model), make_version(model, by=colleague)
        publish(first, "champion", colleague)
        publish(second, "champion", user)
        assert roles(model) == [("published", "challenger"), ("published", "champion")]


def test_lenders_owner_gets_events_about_model_versions(user):
    model = make_model(user)
    member = join(model.provider)
    version = make_version(model)
    publish(version, "champion", member)
    versions.retire(version, actor=actor(member), now=timezone.now())
    sent = [(event.type, event.account_id, event.object) for event in Event.objects.order_by("sequence", "created_at")]
    about = {
        "model_id": model.pk, "version": 1, "provider_id": model.provider_id,
        "definition_sha256": version.definition_sha256,
    }  # fmt: skip
    assert sent == [
        ("scoring_model.published", user.pk, {**about, "role": "champion"}),
        ("scoring_model.retired", user.pk, {**about, "role": ""}),
    ]


def test_only_the_publication_of_a_model_version_creates_a_record_to_anchor(user, settings):
    model = make_model(user)
    version, member = make_version(model), join(model.provider)
    assert not DecisionAnchor.objects.exists()
    publish(version, "champion", member)
    row = DecisionAnchor.objects.get()
    about = (row.publication, row.application, row.report_type, row.subject_id)
    assert about == (version.history.get(), None, "scoring_model_version", member.pk)
    record = json.loads(row.record)
    assert record["definition_sha256"] == version.definition_sha256
    assert (record["role"], record["model_version"], record["published_by"]) == ("champion", 1, str(member.pk))
    settings.ANCHOR_DECISIONS = False
    make_version(model, role="champion")
    assert DecisionAnchor.objects.count() == 1
