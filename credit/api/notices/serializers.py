"""Bodies, queries, and responses of notices, deliveries, consents, and requests for reconsideration."""

from config.api import serializers
from config.api.secret_answers import SecretAnswer
from credit.api import shapes
from credit.api.anchoring.serializers import AnchorSerializer
from credit.api.terms.serializers import MomentField
from credit.core.applicants import LANGUAGES
from credit.models import Delivery, Notice, ReviewRequest
from credit.models.notices import MACHINE
from credit.notices.services import RECORDED, STATEMENT_MAX


class NoticeRowSerializer(serializers.ModelResponseSerializer):
    """A notice without its content."""

    kind = serializers.TextField()
    waits_for = serializers.TextField(
        source="waiting_reason",
        allow_null=True,
        help_text="The human-readable reason why the notice is not created yet. Null if nothing is missing, and before "
        "the first attempt.",
    )

    class Meta:
        model = Notice
        fields = [
            "id", "application_id", "applicant", "kind", "profile", "language", "status", "waits_for", "due_at",
            "made_at", "delivered_at", "sha256",
        ]  # fmt: skip


class NoticeDeliverySerializer(serializers.ModelResponseSerializer):
    """A delivery of a notice."""

    class Meta:
        model = Delivery
        fields = ["id", "notice_id", "channel", "at", "evidence", "recorded_at"]
        extra_kwargs = {"evidence": {"shape": shapes.EVIDENCE}}


class NoticeSerializer(NoticeRowSerializer):
    """A notice: its content, its HTML page, its deliveries, and its inclusion proof."""

    content = serializers.FreeField(
        source="made_from",
        allow_null=True,
        shape=shapes.OBJECT,
        help_text="The content of the notice. Null until the notice is created, and after its retention period.",
    )
    html = serializers.TextField(
        allow_null=True,
        help_text="The notice as an HTML page. Null until the notice is created, and after its retention period.",
    )
    deliveries = NoticeDeliverySerializer(
        many=True,
        source="deliveries_made",
        help_text="The recorded deliveries. The first delivery determines `delivered_at`.",
    )
    proof = AnchorSerializer(
        allow_null=True,
        source="proof_kept",
        help_text="The notice's record and its inclusion proof. Null until the notice is created, and if the notice "
        "has no record.",
    )

    class Meta(NoticeRowSerializer.Meta):
        fields = [*NoticeRowSerializer.Meta.fields, "content", "html", "deliveries", "proof"]


class NoticesPageSerializer(serializers.PageSerializer):
    """A page of notices."""

    notices = NoticeRowSerializer(
        many=True,
        help_text="The notices. The notices of an application are ordered newest first. The notices of a lender are "
        "ordered by `due_at`.",
    )


class NoticeFilter(serializers.FilterSet):
    status = serializers.QueryFilter(serializers.StatusField(MACHINE.statuses, required=False))


class ProviderNoticeFilter(NoticeFilter):
    due_before = serializers.QueryFilter(
        serializers.QueryTimeField(required=False, help_text="Only notices that are due before this time."),
        "due_at",
        "lt",
    )


class NoticeQuery(serializers.PageQuery):
    filterset_class = NoticeFilter


class ProviderNoticeQuery(serializers.PageQuery):
    filterset_class = ProviderNoticeFilter


class NoticeDeliveryRequestSerializer(serializers.RequestSerializer):
    """A delivery of a notice to record."""

    channel = serializers.OneOfField(
        RECORDED, help_text="The channel of the delivery. The platform itself records `portal` and `email`."
    )
    at = MomentField(help_text="When the notice was delivered: after its creation, and not in the future.")
    reference = serializers.IdField(help_text="A reference to the evidence, such as the number of a registered letter.")


class ReviewRequestRequestSerializer(serializers.RequestSerializer):
    """The applicant's request for reconsideration."""

    statement = serializers.TextField(min_length=1, max_length=STATEMENT_MAX, help_text="The applicant's statement.")


class ReviewRequestSerializer(SecretAnswer, serializers.ModelResponseSerializer):
    """A request for reconsideration, and its outcome."""

    status = serializers.OneOfField(
        ("open", "answered"), help_text="The status of the request: `open`, or `answered` once the request is closed."
    )
    statement = serializers.TextField(allow_null=True)

    class Meta:
        model = ReviewRequest
        fields = ["id", "application_id", "status", "statement", "requested_at", "due_at", "answered_at", "outcome"]


class ReviewRequestsPageSerializer(serializers.PageSerializer):
    """A page of an application's requests."""

    review_requests = ReviewRequestSerializer(many=True, help_text="The requests, newest first.")


class HoldRequestSerializer(serializers.RequestSerializer):
    """A litigation hold to start or to end."""

    on = serializers.FlagField(help_text="True to start the hold, false to end it.")
    reason = serializers.TextField(min_length=1, max_length=500, help_text="The reason, such as the case number.")


class GroundSerializer(serializers.ResponseSerializer):
    """A law that requires the retention of the records."""

    name = serializers.TextField(
        source="ground.name", help_text="The name of the ground: `regulation_b`, `regulation_z`, or `colorado`."
    )
    law = serializers.TextField(source="ground.law", help_text="The citation of the law.")
    months = serializers.Int32Field(source="ground.months", help_text="The period in months, each counted as 31 days.")
    until = serializers.DateTimeField(help_text="When the period ends (UTC).")


class HoldSerializer(serializers.ResponseSerializer):
    """The litigation hold and the legal grounds for retention."""

    application_id = serializers.TextField()
    on = serializers.FlagField(
        help_text="Whether a litigation hold is on. During a hold, `prune` and erasures don't delete the application's "
        "records."
    )
    reason = serializers.TextField(
        allow_null=True, help_text="The reason of the last change of the hold. Null if the hold was never changed."
    )
    at = serializers.DateTimeField(
        allow_null=True, help_text="When the hold was last changed (UTC). Null if there was no change."
    )
    grounds = GroundSerializer(
        many=True,
        help_text="The laws that require the retention of the records. Laws whose period has ended are included.",
    )


class LanguageQuery(serializers.QuerySerializer):
    language = serializers.OneOfField(LANGUAGES, default=LANGUAGES[0], help_text="The language of the text.")


class ConsentRequestSerializer(serializers.RequestSerializer):
    """The consent to electronic notices."""

    text_sha256 = serializers.IdField(
        help_text="The `text_sha256` of the text that you read, from the response to GET."
    )
    language = serializers.OneOfField(
        LANGUAGES, default=LANGUAGES[0], help_text="The language of the text that you read."
    )


class ConsentSerializer(serializers.ResponseSerializer):
    """The consent to electronic notices, and its text."""

    is_given = serializers.FlagField(help_text="Whether the consent is in effect.")
    at = serializers.DateTimeField(
        allow_null=True, help_text="When the consent was last given or withdrawn (UTC). Null if never."
    )
    text = serializers.TextField(help_text="The current text of the consent.")
    text_sha256 = serializers.TextField(help_text="The SHA-256 of the text in UTF-8, in hex.")
