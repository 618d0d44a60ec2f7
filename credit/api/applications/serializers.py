from collections.abc import Iterator
from typing import Any

import orjson

from config.api import serializers
from config.api.secret_answers import SecretAnswer
from config.core.errors import PayloadTooLarge
from config.core.json_text import SAFE_INTEGER_MAX, canonical_json, escaped, is_safe
from credit.api import shapes
from credit.api.applications.applicant_serializers import ApplicantSerializer, ApplicantsRequestField
from credit.api.documents.serializers import RequestedDocumentSerializer
from credit.api.offers.loan_serializers import InstalmentSerializer
from credit.core.facts import SHAREABLE
from credit.core.machine import DRAFT, JUDGEMENTS, MACHINE
from credit.models import Proposal
from credit.models.applications import Application, ApplicationHistory


class ShareField(serializers.ListField):
    """The shared areas of SHAREABLE, without duplicates, in alphabetical order."""

    def __init__(self, **options: Any) -> None:
        super().__init__(child=serializers.OneOfField(SHAREABLE), max_length=len(SHAREABLE), **options)

    def to_internal_value(self, data: Any) -> list[str]:
        areas = super().to_internal_value(data)
        if len(areas) > len(SHAREABLE):
            self.fail("max_length", max_length=len(SHAREABLE))
        return sorted(set(areas))


APPLICATION_DATA_MAX_BYTES = 262_144


class ApplicationDataField(serializers.FreeField):
    """The applicant's data: any JSON of at most APPLICATION_DATA_MAX_BYTES in its canonical form."""

    default_error_messages = {
        "unsafe": f"The integer at {{pointer}} must be between -{SAFE_INTEGER_MAX} and {SAFE_INTEGER_MAX}. "
        "Send a larger integer as a string."
    }

    def to_internal_value(self, data: Any) -> Any:
        """Return the data unchanged; raises PayloadTooLarge, and ValidationError for an integer beyond 2^53."""
        try:
            written = orjson.dumps(data, option=orjson.OPT_STRICT_INTEGER)
        except orjson.JSONEncodeError:
            self.fail("unsafe", pointer=next(_unsafe_integers(data, "")))
        # In the canonical form, a number may have 21 characters instead of 4 (1e20).
        may_be_large = 6 * len(written) > APPLICATION_DATA_MAX_BYTES
        if may_be_large and len(canonical_json(data)) > APPLICATION_DATA_MAX_BYTES:
            raise PayloadTooLarge(f"application_data must have at most {APPLICATION_DATA_MAX_BYTES} bytes.")
        return super().to_internal_value(data)


def _unsafe_integers(value: Any, pointer: str) -> Iterator[str]:
    """Yield the JSON pointers of integers that JSON parsers of other languages round."""
    if isinstance(value, int) and not is_safe(value):
        yield pointer
    elif isinstance(value, dict | list):
        for name, member in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _unsafe_integers(member, f"{pointer}/{escaped(name)}")


class ApplicationRequestSerializer(serializers.RequestSerializer):
    """An application to create."""

    consumer_id = serializers.IdField(help_text="Your own `user_id`, as a string.")
    offer_id = serializers.Int64Field(help_text="The id of the application's offer.")
    provider_id = serializers.Int64Field(
        help_text="The id of the offer's lender, as an integer. In offers and lenders it is a string."
    )
    application_data = ApplicationDataField(**serializers.NULLABLE)
    applicants = ApplicantsRequestField(
        **serializers.NULLABLE,
        help_text="One or two applicants. The applicants can differ from the holder of the account. Null if there is "
        "none.",
    )
    share = ShareField(
        default=list,
        help_text="The areas of your data that the lender and the score can read: `bank`, `identity`. A credential "
        "with a list of scopes requires the scope of each area.",
    )
    initial_status = serializers.StatusField(
        MACHINE.statuses,
        allow_null=True,
        default=DRAFT,
        help_text="The first status of the application: `draft`, or `submitted` to submit the application immediately. "
        "Null means `draft`. Under `REVIEW_POLICY=open`, an unrestricted credential can send any status. The "
        "application's history does not contain the first status.",
    )


class ApplicationChangeRequestSerializer(serializers.RequestSerializer):
    """Changes of an application. Absent fields stay unchanged."""

    updated_by = serializers.IdField(
        help_text="The author of the change, in your words. If the data or the applicants change, the API stores this "
        "value. The API stores the authenticated account separately."
    )
    application_data = ApplicationDataField(allow_null=True, required=False)
    applicants = ApplicantsRequestField(allow_null=True, required=False, help_text="All applicants. Null removes them.")
    notes = serializers.TextField(
        allow_null=True, required=False, help_text="Human-readable notes. Null removes the notes."
    )
    share = ShareField(
        required=False,
        help_text="The areas of your data that the lender and the score can read: `bank`, `identity`. Only a draft "
        "accepts changes.",
    )


class ApplicationStatusRequestSerializer(serializers.RequestSerializer):
    """A status change of an application."""

    refuses_unknown = True
    status = serializers.StatusField(MACHINE.statuses, help_text="The new status.")
    updated_by = serializers.IdField()
    reason = serializers.TextField(
        **serializers.NULLABLE, help_text="The human-readable reason. Null if there is none."
    )
    metadata = serializers.FreeField(
        **serializers.NULLABLE,
        shape=shapes.METADATA,
        help_text="Data about the decision: the principal `reasons` of a rejection, the `terms` of an approved loan, "
        "and the `report_ids` of the used reports. For reports that the platform does not store, `consumer_report` has "
        "the agencies and the scores. The API stores the metadata with the status change. Null if there is none.",
    )


class OfferFilter(serializers.FilterSet):
    offer_id = serializers.QueryFilter(
        serializers.QueryInt64Field(required=False, help_text="Only applications to this offer.")
    )
    status = serializers.QueryFilter(serializers.StatusField(MACHINE.statuses, required=False))


class ApplicationFilter(OfferFilter):
    provider_id = serializers.QueryFilter(
        serializers.QueryInt64Field(required=False, help_text="Only applications to this lender.")
    )


class ApplicationQuery(serializers.PageQuery):
    filterset_class = ApplicationFilter

    consumer_id = serializers.IdField(
        required=False, help_text="Your own `user_id`. For another value, the API returns 401 `E2004`."
    )


class ApplicationSerializer(SecretAnswer, serializers.ModelResponseSerializer):
    """An application."""

    applicants = ApplicantSerializer(
        many=True, allow_null=True, help_text="The applicants. Null if there are no applicants, or if they were erased."
    )
    share = ShareField()

    class Meta:
        model = Application
        fields = [
            "id", "consumer_id", "offer_id", "provider_id", "status", "created_at", "updated_at", "application_data",
            "applicants", "share", "notes", "reviewed_at", "reviewed_by", "status_reason", "submitted_at",
        ]  # fmt: skip

    @classmethod
    def is_secret(cls, thing: Any) -> bool:
        """Return whether the response contains the applicants. The application stores them encrypted."""
        return thing.applicants is not None


class InboxFilter(OfferFilter):
    submitted_from = serializers.QueryFilter(
        serializers.QueryTimeField(required=False, help_text="Only applications submitted at or after this time."),
        "submitted_at",
        "gte",
    )
    submitted_to = serializers.QueryFilter(
        serializers.QueryTimeField(required=False, help_text="Only applications submitted at or before this time."),
        "submitted_at",
        "lte",
    )


class InboxQuery(serializers.PageQuery):
    filterset_class = InboxFilter
    period = ("submitted_from", "submitted_to")


class DecisionsQuery(serializers.QuerySerializer):
    """The period of the decisions."""

    refuses_unknown = True
    period = ("from", "to")
    from_ = serializers.QueryTimeField(required=False, help_text="Only decisions at or after this time.")
    to = serializers.QueryTimeField(required=False, help_text="Only decisions at or before this time.")


class InboxApplicationSerializer(ApplicationSerializer):
    """An application in the lender's inbox."""

    class Meta(ApplicationSerializer.Meta):
        fields = [*ApplicationSerializer.Meta.fields, "accepted_at"]


class InboxSerializer(serializers.PageSerializer):
    """A page of applications submitted to a lender."""

    applications = InboxApplicationSerializer(many=True, help_text="The applications submitted to the lender.")


class AcceptanceRequestSerializer(serializers.RequestSerializer):
    """The terms to accept."""

    refuses_unknown = True
    terms_sha256 = serializers.IdField(help_text="The `terms_sha256` from the response to GET.")
    precontract_sha256 = serializers.IdField(
        **serializers.NULLABLE,
        help_text="The `sha256` of the European information form that the applicant received. Required for a loan or "
        "a line of credit under Directive (EU) 2023/2225. Otherwise null or absent.",
    )


class AcceptanceSerializer(serializers.ResponseSerializer):
    """The terms of an approval or a counteroffer, and their acceptance."""

    acceptable = serializers.FlagField(
        help_text="Whether the application has terms to accept now. Even if true, the API rejects the acceptance until "
        "a required pricing notice (`E3011`) or European information form (`E3018`) is delivered."
    )
    terms = serializers.FreeField(
        allow_null=True,
        shape=shapes.OFFER_OR_LOAN,
        help_text="The approved or counteroffered loan. If no loan is approved or counteroffered, the offer's terms as "
        "of the submission. Null before the submission. Also null for an unlisted offer if there is no loan.",
    )
    as_of = serializers.DayField(
        allow_null=True, help_text="The day for which `terms` were computed. Null if there is no loan."
    )
    schedule = InstalmentSerializer(
        many=True,
        allow_null=True,
        help_text="All payments, in order. Null if there is no loan, and for a line of credit.",
    )
    terms_sha256 = serializers.TextField(help_text="The SHA-256 of the canonical JSON of `terms`, in hex.")
    expires_at = serializers.DateTimeField(
        allow_null=True,
        help_text="The time by which the approval or the counteroffer must be accepted (UTC). Null if there is nothing "
        "to accept.",
    )
    accepted_at = serializers.DateTimeField(
        allow_null=True,
        help_text="When the applicant accepted the terms (UTC). Null before the acceptance, and after the application "
        "is reopened.",
    )


class PendingDecisionSerializer(serializers.ModelResponseSerializer):
    """A proposed decision that a second reviewer must confirm."""

    to = serializers.StatusField(sorted(JUDGEMENTS), help_text="The proposed status, or `counteroffer`.")
    proposed_by = serializers.TextField(
        source="proposer_id", help_text="The proposer's `user_id`, or the scoring model as `model:<id>@<version>`."
    )
    data_sha256 = serializers.TextField(
        source="application.data_sha256",
        help_text="The SHA-256 of the canonical JSON of `application_data`, in hex. A change of the data voids the "
        "proposal.",
    )
    terms = serializers.FreeField(
        allow_null=True, shape=shapes.LOAN_TERMS_REQUEST, help_text="The proposed loan. Null if there is none."
    )

    class Meta:
        model = Proposal
        fields = ["to", "proposed_by", "proposed_at", "data_sha256", "terms"]


class ReviewedApplicationSerializer(ApplicationSerializer):
    """An application, with its pending decision and warnings."""

    pending_decision = PendingDecisionSerializer(
        required=False,
        help_text="The proposed decision that a second reviewer must confirm (`four_eyes`). Absent if there is none, "
        "and in responses to the applicant.",
    )
    warnings = serializers.ListField(
        child=serializers.TextField(),
        required=False,
        help_text="A warning if the score's outcome is `refer`, and the rejection contains none of the score's "
        "reasons. Only the response to a reviewer's status change can have this field. Absent if there is no warning.",
    )

    class Meta(ApplicationSerializer.Meta):
        fields = [*ApplicationSerializer.Meta.fields, "pending_decision", "warnings"]


class HistoryEntrySerializer(serializers.ModelResponseSerializer):
    """One status transition."""

    status = serializers.StatusField(MACHINE.statuses)
    reason_code = serializers.TextField(
        allow_null=True,
        help_text="The code of the reason: `declined_by_applicant` if the applicant declined the approved terms. "
        "Otherwise null.",
    )

    class Meta:
        model = ApplicationHistory
        fields = ["status", "changed_by", "changed_at", "reason", "reason_code"]
        extra_kwargs = {
            "changed_by": {
                "help_text": "The author of the change: the `updated_by` of the API request, or the user name in the "
                "back office and the lender console. For an accepted or expired counteroffer, the counteroffer's "
                "`offered_by`. Otherwise, the account's `user_id`, `model:<id>@<version>`, or `system`."
            }
        }


class HistoryPageSerializer(serializers.ResponseSerializer):
    """The status transitions of an application, at most 1,000."""

    application_id = serializers.TextField()
    history = HistoryEntrySerializer(many=True, help_text="The transitions, oldest first.")


class TransitionSerializer(serializers.ResponseSerializer):
    """A transition, and whether the caller can make it now."""

    to = serializers.StatusField(MACHINE.statuses, help_text="The new status.")
    by = serializers.TextField(
        help_text="The role that can make the transition, unless `REVIEW_POLICY` is `open`: `owner` (the applicant), "
        "`reviewer`, `either`, or `system`."
    )
    allowed = serializers.FlagField(help_text="Whether the caller can make the transition now.")
    code = serializers.TextField(
        allow_null=True,
        help_text="The code of the error that blocks the transition. Null if the transition is allowed.",
    )
    why = serializers.TextField(
        allow_null=True,
        help_text="The human-readable reason why the transition is blocked. Null if the transition is allowed.",
    )


class TransitionDetailsSerializer(serializers.ResponseSerializer):
    """The documents on an application's checklist."""

    documents = RequestedDocumentSerializer(many=True, help_text="The documents, with their files.")


class TransitionsPageSerializer(serializers.ResponseSerializer):
    """The transitions from the current status."""

    application_id = serializers.TextField()
    status = serializers.StatusField(MACHINE.statuses, help_text="The current status.")
    review_policy = serializers.TextField(
        help_text="The review policy: `open` (the caller decides), `reviewed` (one reviewer decides), or `four_eyes` "
        "(two reviewers decide)."
    )
    transitions = TransitionSerializer(many=True, help_text="All transitions from this status.")
    details = TransitionDetailsSerializer(
        required=False, help_text="The checklist of documents. Absent if the checklist is empty."
    )
    pending_decision = PendingDecisionSerializer(
        required=False,
        help_text="The proposed decision that a second reviewer must confirm (`four_eyes`). Absent if there is none, "
        "and in responses to the applicant.",
    )
