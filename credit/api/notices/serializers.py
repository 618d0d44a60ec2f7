"""Bodies, queries and answers about notices, deliveries, consent and requests to look again."""

from config.api import serializers
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
        help_text="Why it is not made yet, in words; null where nothing lacks.",
    )

    class Meta:
        model = Notice
        fields = [
            "id", "application_id", "applicant", "kind", "profile", "language", "status", "waits_for", "due_at",
            "made_at", "delivered_at", "sha256",
        ]  # fmt: skip


class NoticeDeliverySerializer(serializers.ModelResponseSerializer):
    """How a notice reached the person."""

    class Meta:
        model = Delivery
        fields = ["id", "notice_id", "channel", "at", "evidence", "recorded_at"]


class NoticeSerializer(NoticeRowSerializer):
    """A notice: what it was made from, the page that is the record, how it was delivered, and the ledger's proof."""

    content = serializers.FreeField(
        source="made_from", allow_null=True, help_text="Null until it is made, and once it is forgotten."
    )
    html = serializers.TextField(allow_null=True, help_text="The record, word for word.")
    deliveries = NoticeDeliverySerializer(many=True, source="deliveries_made", help_text="The first one delivered it.")
    proof = AnchorSerializer(allow_null=True, source="proof_kept", help_text="Null until it is made and recorded.")

    class Meta(NoticeRowSerializer.Meta):
        fields = [*NoticeRowSerializer.Meta.fields, "content", "html", "deliveries", "proof"]


class NoticesPageSerializer(serializers.PageSerializer):
    """A page of notices."""

    notices = NoticeRowSerializer(
        many=True, help_text="For an application the newest first, for a provider by `due_at`."
    )


class NoticeFilter(serializers.FilterSet):
    status = serializers.QueryFilter(serializers.StatusField(MACHINE.statuses, required=False))


class ProviderNoticeFilter(NoticeFilter):
    due_before = serializers.QueryFilter(
        serializers.QueryTimeField(required=False, help_text="Due before this moment."), "due_at", "lt"
    )


class NoticeQuery(serializers.PageQuery):
    filterset_class = NoticeFilter


class ProviderNoticeQuery(serializers.PageQuery):
    filterset_class = ProviderNoticeFilter


class NoticeDeliveryRequestSerializer(serializers.RequestSerializer):
    """How a notice was handed over."""

    channel = serializers.OneOfField(RECORDED, help_text="`portal` and `email` the platform sees itself.")
    at = MomentField(help_text="When: after the notice was made, and not in the future.")
    reference = serializers.IdField(help_text="By which the proof is found, such as the number of a registered letter.")


class ReviewRequestRequestSerializer(serializers.RequestSerializer):
    """The applicant's request for reconsideration."""

    statement = serializers.TextField(min_length=1, max_length=STATEMENT_MAX, help_text="In the person's own words.")


class ReviewRequestSerializer(serializers.ModelResponseSerializer):
    """A wish that a person looks again, and the decision that answers it."""

    status = serializers.OneOfField(("open", "answered"))
    statement = serializers.TextField(allow_null=True)

    class Meta:
        model = ReviewRequest
        fields = ["id", "application_id", "status", "statement", "requested_at", "due_at", "answered_at", "outcome"]


class ReviewRequestsPageSerializer(serializers.PageSerializer):
    """A page of an application's requests."""

    review_requests = ReviewRequestSerializer(many=True, help_text="The newest first.")


class HoldRequestSerializer(serializers.RequestSerializer):
    """A litigation hold to start or to end."""

    on = serializers.FlagField(help_text="Whether the records must be kept.")
    reason = serializers.TextField(min_length=1, max_length=500, help_text="Why, such as the number of the case.")


class GroundSerializer(serializers.ResponseSerializer):
    """A law that requires the records to be kept."""

    name = serializers.TextField(source="ground.name", help_text="`regulation_b`, `regulation_z`, or `colorado`.")
    law = serializers.TextField(source="ground.law", help_text="The citation.")
    months = serializers.Int32Field(source="ground.months", help_text="The period, in months.")
    until = serializers.DateTimeField(help_text="When the period ends (UTC).")


class HoldSerializer(serializers.ResponseSerializer):
    """What keeps the records of an application."""

    application_id = serializers.TextField()
    on = serializers.FlagField(help_text="Whether a litigation hold is on. While it is, nothing is emptied.")
    reason = serializers.TextField(allow_null=True, help_text="The reason of the last change; null if there was none.")
    at = serializers.DateTimeField(allow_null=True, help_text="When the hold was last changed (UTC); null for never.")
    grounds = GroundSerializer(many=True, help_text="The laws that require the records to be kept.")


class LanguageQuery(serializers.QuerySerializer):
    language = serializers.OneOfField(LANGUAGES, default=LANGUAGES[0], help_text="In which the text is shown.")


class ConsentRequestSerializer(serializers.RequestSerializer):
    """That the person agrees."""

    text_sha256 = serializers.IdField(help_text="SHA-256 of the consent text that you read, from the response to GET.")
    language = serializers.OneOfField(LANGUAGES, default=LANGUAGES[0], help_text="In which it was read.")


class ConsentSerializer(serializers.ResponseSerializer):
    """Whether the person takes notices electronically, and the text that they agree to."""

    is_given = serializers.FlagField(help_text="Whether they do.")
    at = serializers.DateTimeField(allow_null=True, help_text="Since when, or since when no longer; null for never.")
    text = serializers.TextField(help_text="The current text of the consent.")
    text_sha256 = serializers.TextField(help_text="The SHA-256 of its bytes in UTF-8, in hex.")
