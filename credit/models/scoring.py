from typing import Any

import orjson
from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils.functional import cached_property

from config.core import lifecycle
from config.core.context import request_id
from config.core.digest import digest_of
from config.core.encryption import EncryptedTextField
from config.core.errors import ApiError
from config.core.ids import uuid7
from config.core.json_text import JsonTextField, canonical_json, rfc3339
from config.core.lifecycle import Machine, Role
from config.webhooks.events import record_event
from credit.core.card import Card
from credit.core.errors import InvalidVersionTransition
from credit.core.facts import PERSON, has_person

DRAFT, PUBLISHED, RETIRED = "draft", "published", "retired"
CHAMPION, CHALLENGER = "champion", "challenger"
PUBLISH = "credit.publish_modelversion"

# A published version can be published again, which changes its role.
MACHINE = Machine(
    {
        DRAFT: {PUBLISHED: Role.OWNER, RETIRED: Role.OWNER},
        PUBLISHED: {PUBLISHED: Role.OWNER, RETIRED: Role.OWNER},
        RETIRED: {},
    }
)


class ScoringModel(models.Model):
    """A lender's scoring model. Offers refer to the model's ID as `blockscore_model_id`."""

    provider = models.ForeignKey(
        "credit.Provider",
        on_delete=models.PROTECT,
        related_name="scoring_models",
        help_text="The id of the model's lender, as a string. In applications it is an integer.",
    )
    name = models.CharField(max_length=255, help_text="The name of the model.")
    description = models.TextField(
        blank=True, default="", help_text="The purpose of the model, in its owner's words. Empty if none."
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(help_text="When the model was created (UTC).")

    def __str__(self) -> str:
        return self.name


class ModelVersion(lifecycle.StatefulModel):
    """A version of a scoring model. The database rejects changes of the definition, so a change needs a new version."""

    model = models.ForeignKey(
        ScoringModel,
        on_delete=models.PROTECT,
        related_name="versions",
        db_index=False,
        help_text="The id of the version's scoring model.",
    )
    number = models.PositiveIntegerField(help_text="The number of the version in its model, from 1.")
    definition: Any = JsonTextField(help_text="The scorecard, as `GET /v1/scoring/definition-schema` describes it.")
    definition_sha256 = models.CharField(
        max_length=64, help_text="The SHA-256 of the definition's canonical JSON, in hex."
    )
    status = models.CharField(
        max_length=16,
        choices=[(status, status) for status in MACHINE.statuses],
        default=DRAFT,
        help_text="The status of the version: `draft`, `published`, or `retired`.",
    )
    role = models.CharField(
        max_length=16,
        blank=True,
        default="",
        help_text="The role of the version: `champion` or `challenger` while the version is published. Otherwise "
        "empty.",
    )
    note = models.TextField(blank=True, default="", help_text="The author's note about the version. Empty for none.")
    about: Any = JsonTextField(
        null=True, help_text="Instructions for use, from the version's author; null if there are none."
    )
    certificate: Any = JsonTextField(
        null=True, help_text="The figures of the card, computed at publication; null if unpublished or older than 1.1."
    )
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,
        help_text="The `user_id` of the account that created the version.",
    )
    published_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,
        help_text="The `user_id` of the account that last published the version or changed its role. Null before the "
        "publication.",
    )
    published_at = models.DateTimeField(
        null=True, help_text="When the version was published or last changed its role (UTC). Null before then."
    )
    created_at = models.DateTimeField(help_text="When the version was created (UTC).")

    machine = MACHINE
    invalid_transition = InvalidVersionTransition

    class Meta:
        ordering = ["number"]
        permissions = [("publish_modelversion", "Can publish and retire versions of scoring models")]
        constraints = [
            models.UniqueConstraint(fields=["model", "number"], name="credit_model_version_number"),
            models.UniqueConstraint(
                fields=["model"], condition=Q(role=CHAMPION, status=PUBLISHED), name="credit_model_one_champion"
            ),
            models.CheckConstraint(condition=Q(status__in=MACHINE.statuses), name="credit_model_status_known"),
        ]

    def __str__(self) -> str:
        return f"{self.model_id}@{self.number}"

    @property
    def title(self) -> str:
        return f"{self.model.name}, version {self.number}"

    @cached_property
    def card(self) -> Card:
        return Card.of(self.definition)

    @property
    def certificate_text(self) -> str | None:
        return None if self.certificate is None else canonical_json(self.certificate).decode()

    @property
    def certificate_sha256(self) -> str | None:
        text = self.certificate_text
        return None if text is None else digest_of(text)

    def check_transition(self, to: str, actor: lifecycle.Actor) -> ApiError | None:
        """Return the error that blocks this transition, or None. Under `four_eyes`, the author can't publish.

        If a published champion gets another role, it only loses the champion's rights, so this transition requires no
        second person.
        """
        if to not in MACHINE.moves_from(self.status):
            return InvalidVersionTransition.between(self, to)
        if actor.lacks_second_factor:
            return lifecycle.SecondFactorRequired()
        gains = to == PUBLISHED and (self.status, self.role) != (PUBLISHED, CHAMPION)
        if gains and settings.REVIEW_POLICY == "four_eyes" and actor.user.pk == self.made_by_id:
            return lifecycle.ReviewerRequired("The author of a version can't publish it.")
        return None

    def derived_columns(self, transition: lifecycle.Transition) -> dict[str, Any]:
        if transition.to != PUBLISHED:
            return {"role": ""}
        return {"published_by": transition.actor.user, "published_at": transition.now}

    def record_transition(self, row: "ModelVersionHistory") -> None:
        lender = self.model.provider
        about = {"model_id": self.model_id, "version": self.number, "provider_id": lender.pk, "role": self.role}
        about["definition_sha256"] = self.definition_sha256
        record_event(f"scoring_model.{row.status}", account_id=lender.owner_id, now=row.changed_at, **about)

    def publication_record(self, row: lifecycle.StatusHistory) -> str:
        record = {
            "record_version": 2,
            "model_id": self.model_id,
            "model_version": self.number,
            "provider_id": self.model.provider_id,
            "definition_sha256": self.definition_sha256,
            "certificate_sha256": self.certificate_sha256,
            "about_sha256": None if self.about is None else digest_of(canonical_json(self.about).decode()),
            "role": self.role,
            "made_by": str(self.made_by_id),
            "published_by": row.changed_by,
            "published_at": rfc3339(row.changed_at),
            "request_id": request_id.get() or None,
        }
        return canonical_json(record).decode()


class ModelVersionHistory(lifecycle.StatusHistory):
    """A publication or a retirement of a version. `metadata.role` is the granted role. Append-only."""

    version = models.ForeignKey(ModelVersion, on_delete=models.PROTECT, related_name="history", db_index=False)

    class Meta(lifecycle.StatusHistory.Meta):
        verbose_name_plural = "model version history"
        constraints = [models.UniqueConstraint(fields=["version", "position"], name="credit_model_history_position")]


class Score(models.Model):
    """The result that a model version computed from an applicant's facts.

    Scores are append-only, so the erasable facts are in `ScoreFacts`.

    Each item of `points` is `[characteristic, bin, points, baseline]`. `missing` has the names of missing inputs.
    `facts_sha256` is the SHA-256 of the nonce's bytes followed by the canonical JSON of the facts.
    """

    DECISION, SHADOW = "decision", "shadow"
    PURPOSES = (DECISION, SHADOW)

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    version = models.ForeignKey(ModelVersion, on_delete=models.PROTECT, related_name="scores", db_index=False)
    application = models.ForeignKey(
        "credit.Application", null=True, on_delete=models.PROTECT, related_name="scores", db_index=False
    )
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    purpose = models.CharField(max_length=16, choices=[(purpose, purpose) for purpose in PURPOSES])
    number = models.PositiveSmallIntegerField(
        default=1, db_default=1, help_text="1 at the submission, one more each time that a reviewer scores again."
    )
    facts_sha256 = models.CharField(max_length=64)
    points: Any = JsonTextField()
    total = models.BigIntegerField()
    outcome = models.CharField(max_length=16)
    segment = models.CharField(max_length=100, blank=True, default="")
    reasons: Any = JsonTextField()
    missing: Any = JsonTextField()
    sources: Any = JsonTextField(
        null=True, help_text="Name, source and day of each fact that was used; null for scores before version 1.1."
    )
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["application", "version", "number"], name="credit_score_once_a_number")
        ]
        indexes = [
            models.Index(fields=["user", "-id"], name="credit_score_user"),
            models.Index(fields=["version", "purpose", "created_at"], name="credit_score_version"),
        ]

    def __str__(self) -> str:
        return f"{self.total} by {self.version_id}"

    @property
    def facts_if_kept(self) -> "ScoreFacts | None":
        """The facts from which the score was computed, or None after their erasure."""
        return getattr(self, "kept_facts", None)

    RESULT = ("points", "total", "outcome", "segment", "reasons", "missing")

    @property
    def is_withheld(self) -> bool:
        """Return whether only the lender can read the result, because it can reveal other applications."""
        return has_person(source["name"] for source in self.sources or ())

    @property
    def sources_for_applicant(self) -> list[dict[str, Any]] | None:
        """Return the sources of the score without the facts that only the lender can read."""
        sources: Any = self.sources
        return sources and [source for source in sources if not source["name"].startswith(PERSON)]

    @classmethod
    def deciding(cls, application_id: Any) -> models.QuerySet["Score"]:
        """Select the scores that decide an application or propose a decision, newest first, with their versions."""
        scores = cls.objects.filter(application=application_id, purpose=cls.DECISION)
        return scores.order_by("-number").select_related("version")

    @classmethod
    def superseded(cls) -> Exists:
        """Return the condition that the application has a newer decision score."""
        later = cls.objects.filter(application=OuterRef("application"), purpose=cls.DECISION)
        return Exists(later.filter(number__gt=OuterRef("number")))


class LastScore(models.Model):
    """The newest result of a model for an account that applied or requested matches.

    The catalog of offers reads this result.

    Each pair of account and model has a single row, which the next result replaces. The row contains no facts. Results
    of challengers are only for comparison, so they are not stored here.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    model = models.ForeignKey(ScoringModel, on_delete=models.PROTECT, related_name="+")
    outcome = models.CharField(max_length=16)
    segment = models.CharField(  # noqa: DJ001  because null and "" have different meanings
        max_length=100,
        null=True,
        help_text="The segment of the score; empty for a person in none, null if the card declares none.",
    )
    reasons: Any = JsonTextField()
    scored_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "model"], name="credit_last_score_once")]

    def __str__(self) -> str:
        return f"{self.outcome} by {self.model_id}"

    def has_same_result_as(self, other: "LastScore | None") -> bool:
        mine = (self.outcome, self.segment, self.reasons)
        return other is not None and mine == (other.outcome, other.segment, other.reasons)


class ScoreFacts(models.Model):
    """The input of a score until its erasure: the canonical JSON of the facts, and a nonce in base64."""

    score = models.OneToOneField(Score, primary_key=True, on_delete=models.PROTECT, related_name="kept_facts")
    facts = EncryptedTextField()
    nonce = EncryptedTextField()

    class Meta:
        verbose_name = verbose_name_plural = "score facts"

    def __str__(self) -> str:
        return str(self.score_id)

    def values(self) -> dict[str, Any]:
        return dict(orjson.loads(self.facts))
