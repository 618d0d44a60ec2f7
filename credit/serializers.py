"""Bodies, queries and answers of this app (specification sections 2.1, 2.2, 2.4, 2.5, 4.2)."""

from datetime import date
from typing import Any

from rest_framework import serializers

from config.api.serializers import (
    DayField,
    FlagField,
    FreeField,
    IdField,
    Int32Field,
    Int64Field,
    NumberField,
    OneOfField,
    PageQuery,
    QueryDecimalField,
    QueryFlagField,
    QueryInt64Field,
    QuerySerializer,
    QueryTimeField,
    RequestSerializer,
    ResponseSerializer,
    StatusField,
    StrictListField,
    TextField,
)
from config.api.uploads import UploadField
from credit.document_models import DOCUMENTS_MAX
from credit.machine import DECIDED, DRAFT, MACHINE
from credit.quotes import AMOUNT_MAX_CENTS, METHODS
from credit.states import US_STATES

APR_MAX_PERCENT = 1000
TERM_MAX_MONTHS = 600
TERMS_MAX = 60


class OfferBody(RequestSerializer):
    """An offer, for creating and for replacing."""

    provider_id = IdField()
    name = IdField()
    product_type = IdField()
    description = TextField(allow_null=True, default=None)
    apr_min_percent = NumberField(min_value=0, max_value=APR_MAX_PERCENT, allow_null=True, default=None)
    apr_max_percent = NumberField(min_value=0, max_value=APR_MAX_PERCENT, allow_null=True, default=None)
    loan_amount_min_cents = Int64Field(min_value=0, allow_null=True, default=None)
    loan_amount_max_cents = Int64Field(min_value=0, allow_null=True, default=None)
    term_options_months: Any = StrictListField(
        child=Int32Field(min_value=1, max_value=TERM_MAX_MONTHS), max_length=TERMS_MAX, allow_null=True, default=None
    )
    nationwide = FlagField(allow_null=True, default=None)
    included_states: Any = StrictListField(child=IdField(), max_length=60, allow_null=True, default=None)
    excluded_states: Any = StrictListField(child=IdField(), max_length=60, allow_null=True, default=None)
    customer_segment = IdField(allow_null=True, default=None)
    blockscore_model_id = Int64Field(allow_null=True, default=None)
    ab_test_variant = IdField(allow_null=True, default=None)
    ab_test_allocation = Int32Field(min_value=0, max_value=100, allow_null=True, default=None)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        for low, high in (("apr_min_percent", "apr_max_percent"), ("loan_amount_min_cents", "loan_amount_max_cents")):
            if attrs[low] is not None and attrs[high] is not None and attrs[low] > attrs[high]:
                raise serializers.ValidationError({low: [f"Must not be greater than {high}."]})
        for name in ("included_states", "excluded_states"):
            unknown = sorted(set(attrs[name] or ()) - US_STATES)
            if unknown:
                raise serializers.ValidationError({name: [f"Not a US state or territory code: {', '.join(unknown)}."]})
        both = sorted(set(attrs["included_states"] or ()) & set(attrs["excluded_states"] or ()))
        if both:
            raise serializers.ValidationError({"excluded_states": [f"Also included: {', '.join(both)}."]})
        return attrs


class OfferAnswer(ResponseSerializer):
    """A provider offer, with its terms."""

    id = TextField()
    provider_id = TextField()
    name = TextField()
    description = TextField()
    product_type = TextField()
    is_active = FlagField()
    version = Int32Field()
    created_at = serializers.DateTimeField(allow_null=True)
    updated_at = serializers.DateTimeField(allow_null=True)
    apr_min_percent = NumberField(min_value=0, max_value=APR_MAX_PERCENT, allow_null=True)
    apr_max_percent = NumberField(min_value=0, max_value=APR_MAX_PERCENT, allow_null=True)
    loan_amount_min_cents = Int64Field(allow_null=True)
    loan_amount_max_cents = Int64Field(allow_null=True)
    term_options_months: Any = StrictListField(child=Int32Field(), allow_null=True)
    nationwide = FlagField(allow_null=True)
    included_states: Any = StrictListField(child=TextField(), allow_null=True)
    excluded_states: Any = StrictListField(child=TextField(), allow_null=True)
    customer_segment = TextField(allow_null=True)
    blockscore_model_id = Int64Field(allow_null=True)
    ab_test_variant = TextField(allow_null=True)
    ab_test_allocation = Int32Field(allow_null=True)


class OfferQuery(QuerySerializer):
    """Which provider's offers."""

    provider_id = IdField()
    include_inactive = QueryFlagField(default=False, help_text="Show the owner what was deactivated, too.")


class QuoteQuery(QuerySerializer):
    """The loan to quote."""

    amount_cents = QueryInt64Field(min_value=1, max_value=AMOUNT_MAX_CENTS)
    term_months = QueryInt64Field(min_value=1, max_value=TERM_MAX_MONTHS)
    apr_percent = QueryDecimalField(
        min_value=0,
        max_value=APR_MAX_PERCENT,
        default=None,
        help_text="The note rate, at most six digits after the point. Default: the offer's lowest.",
    )
    fee_cents = QueryInt64Field(min_value=0, default=0, help_text="The prepaid finance charge: less than the amount.")
    first_payment_on = DayField(
        default=None, help_text="After today (UTC), at most twelve months. Default: a month from today."
    )
    method = OneOfField(METHODS, default="us_appendix_j", help_text="How `apr_percent` of the answer is computed.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["fee_cents"] >= attrs["amount_cents"]:
            raise serializers.ValidationError({"fee_cents": ["Must be less than amount_cents."]})
        if attrs["first_payment_on"] is not None:
            attrs["first_payment_on"] = date.fromisoformat(attrs["first_payment_on"])
        return attrs


class InstalmentAnswer(ResponseSerializer):
    """One payment of a schedule."""

    number = Int32Field()
    due_on = serializers.DateField()
    payment_cents = Int64Field()
    interest_cents = Int64Field()
    principal_cents = Int64Field(help_text="Below zero when a long first period earns more than its payment.")
    balance_cents = Int64Field(help_text="What is owed after the payment.")


class QuoteAnswer(ResponseSerializer):
    """What a loan costs."""

    payment_cents = Int64Field(help_text="Of every payment but the last.")
    final_payment_cents = Int64Field()
    total_of_payments_cents = Int64Field()
    finance_charge_cents = Int64Field(help_text="All interest, and the prepaid fee.")
    amount_financed_cents = Int64Field(help_text="The amount less the prepaid fee.")
    apr_percent = NumberField(help_text="The annual percentage rate, to four digits after the point.")
    method = OneOfField(METHODS)
    schedule = InstalmentAnswer(many=True)


class CatalogueQuery(PageQuery):
    """Filters of the catalogue."""

    product_type = IdField(required=False)
    state = IdField(required=False, help_text="A US two-letter code.")
    amount_cents = QueryInt64Field(min_value=0, required=False)
    segment = IdField(required=False)
    explain = QueryFlagField(default=False, help_text="Also say which offers were left out, and by which rule.")


class CatalogueItemAnswer(OfferAnswer):
    """An offer as a marketplace shows it to this caller."""

    offer_id = Int64Field()
    variant = TextField(allow_null=True)


class HiddenAnswer(ResponseSerializer):
    """An offer that was left out, and why."""

    offer_id = Int64Field()
    rule = TextField()


class CatalogueAnswer(ResponseSerializer):
    """A page of the catalogue."""

    items = CatalogueItemAnswer(many=True)
    total = Int64Field()
    has_more = FlagField()
    hidden = HiddenAnswer(many=True, required=False, help_text="Only with `explain=true`.")


class ApplicationBody(RequestSerializer):
    """CreateApplication."""

    consumer_id = IdField()
    offer_id = Int64Field()
    provider_id = Int64Field()
    application_data = FreeField(allow_null=True, default=None)
    initial_status = StatusField(MACHINE.statuses, allow_null=True, default=DRAFT)


class ApplicationChangeBody(RequestSerializer):
    """UpdateApplication: replaces the members that are present."""

    updated_by = IdField()
    application_data = FreeField(allow_null=True, required=False)
    notes = TextField(allow_null=True, required=False)


class ApplicationStatusBody(RequestSerializer):
    """UpdateApplicationStatus."""

    status = StatusField(MACHINE.statuses)
    updated_by = IdField()
    reason = TextField(allow_null=True, default=None)
    metadata = FreeField(allow_null=True, default=None)


class ApplicationQuery(PageQuery):
    """Filters of the caller's own applications."""

    consumer_id = IdField(required=False)
    provider_id = QueryInt64Field(required=False)
    offer_id = QueryInt64Field(required=False)
    status = StatusField(MACHINE.statuses, required=False)


class ApplicationAnswer(ResponseSerializer):
    """An application."""

    id = serializers.UUIDField()
    consumer_id = TextField()
    offer_id = Int64Field()
    provider_id = Int64Field()
    status = StatusField(MACHINE.statuses)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    application_data = FreeField(allow_null=True)
    notes = TextField(allow_null=True)
    reviewed_at = serializers.DateTimeField(allow_null=True)
    reviewed_by = TextField(allow_null=True)
    status_reason = TextField(allow_null=True)
    submitted_at = serializers.DateTimeField(allow_null=True)


class InboxQuery(PageQuery):
    """Filters of what was submitted to a provider."""

    status = StatusField(MACHINE.statuses, required=False)
    offer_id = QueryInt64Field(required=False)
    submitted_from = QueryTimeField(required=False, help_text="The earliest submission.")
    submitted_to = QueryTimeField(required=False, help_text="The latest submission.")


class InboxApplicationAnswer(ApplicationAnswer):
    """An application as the provider sees it to which it was sent."""

    accepted_at = serializers.DateTimeField(allow_null=True, help_text="When the consumer took the approval up.")


class InboxAnswer(ResponseSerializer):
    """A page of what was submitted to a provider."""

    applications = InboxApplicationAnswer(many=True)
    total = Int64Field()
    has_more = FlagField()


class ProviderAnswer(ResponseSerializer):
    """A provider that the caller acts for."""

    provider_id = TextField(source="id")
    owner_id = TextField(help_text="The user_id of the account that used the id first.")
    created_at = serializers.DateTimeField()


class ProvidersAnswer(ResponseSerializer):
    """A page of providers."""

    providers = ProviderAnswer(many=True)
    total = Int64Field()
    has_more = FlagField()


class MemberBody(RequestSerializer):
    """Who is to act for a provider."""

    username = IdField()


class MemberAnswer(ResponseSerializer):
    """An account that acts for a provider."""

    user_id = TextField()
    username = TextField(source="user.username")
    is_owner = FlagField()


class MembersAnswer(ResponseSerializer):
    """A page of a provider's members."""

    members = MemberAnswer(many=True)
    total = Int64Field()
    has_more = FlagField()


class AcceptanceBody(RequestSerializer):
    """The terms that are accepted."""

    terms_sha256 = IdField()


class AcceptanceAnswer(ResponseSerializer):
    """What there is to accept, and whether that was done."""

    acceptable = FlagField()
    terms = FreeField(allow_null=True, help_text="The offer's, as pinned at the submission; null for one not listed.")
    terms_sha256 = TextField(help_text="The SHA-256 of the canonical JSON of `terms`, in hex.")
    expires_at = serializers.DateTimeField(allow_null=True, help_text="Until when the approval can be taken up.")
    accepted_at = serializers.DateTimeField(allow_null=True)


class PendingDecisionAnswer(ResponseSerializer):
    """A decision that one reviewer has proposed and a second one has to confirm."""

    to = StatusField(sorted(DECIDED))
    proposed_by = TextField(help_text="The proposer's user_id, or the scoring model as `model:<id>@<version>`.")
    proposed_at = serializers.DateTimeField()
    data_sha256 = TextField(help_text="Of the canonical JSON of the data that it is bound to.")


class ReviewedApplicationAnswer(ApplicationAnswer):
    """An application as its reviewers see it."""

    pending_decision = PendingDecisionAnswer(
        required=False, help_text="Only to reviewers, while a decision waits for a second one (`four_eyes`)."
    )


class HistoryEntryAnswer(ResponseSerializer):
    """One status entered."""

    status = StatusField(MACHINE.statuses)
    changed_by = TextField()
    changed_at = serializers.DateTimeField()
    reason = TextField(allow_null=True)


class HistoryAnswer(ResponseSerializer):
    """Every status entered, in order."""

    application_id = TextField()
    history = HistoryEntryAnswer(many=True)


class TransitionAnswer(ResponseSerializer):
    """A move, whether the caller may make it now, and if not, why."""

    to = StatusField(MACHINE.statuses)
    by = TextField(help_text="owner, reviewer, either or system")
    allowed = FlagField()
    code = TextField(allow_null=True, help_text="The error that the move would meet.")
    why = TextField(allow_null=True)


class DocumentRequestBody(RequestSerializer):
    """Documents to ask the consumer for."""

    names: Any = StrictListField(child=IdField(), min_length=1, max_length=DOCUMENTS_MAX)
    reason = TextField(allow_null=True, default=None, help_text="What the consumer reads above the checklist.")

    def validate_names(self, names: list[str]) -> list[str]:
        if not all(name.strip() for name in names):
            raise serializers.ValidationError("A name says what is asked for.")
        return names


class DocumentFileBody(RequestSerializer):
    """A file to hand in."""

    file = UploadField(help_text="A PDF, JPEG or PNG of at most 10 MiB.")


class DocumentFileAnswer(ResponseSerializer):
    """A file that was handed in."""

    id = serializers.UUIDField()
    name = TextField()
    content_type = TextField(help_text="application/pdf, image/jpeg or image/png, by its content")
    size_bytes = Int64Field()
    sha256 = TextField()
    received_at = serializers.DateTimeField()


class DocumentFilesAnswer(ResponseSerializer):
    """The files of a document."""

    files = DocumentFileAnswer(many=True)
    total = Int64Field()


class RequestedDocumentAnswer(ResponseSerializer):
    """A document that a reviewer asked for."""

    id = serializers.UUIDField()
    name = TextField()
    status = TextField(help_text="requested, received or accepted")
    reason = TextField(help_text="Why it is asked for again; empty the first time.")
    requested_at = serializers.DateTimeField()
    received_at = serializers.DateTimeField(allow_null=True)
    accepted_at = serializers.DateTimeField(allow_null=True)
    files = DocumentFileAnswer(many=True, source="kept_files")


class DocumentsAnswer(ResponseSerializer):
    """An application's checklist."""

    documents = RequestedDocumentAnswer(many=True)
    total = Int64Field()


class TransitionDetailsAnswer(ResponseSerializer):
    """What the next move waits for."""

    documents = RequestedDocumentAnswer(many=True)


class TransitionsAnswer(ResponseSerializer):
    """The moves out of the current status."""

    application_id = TextField()
    status = StatusField(MACHINE.statuses)
    review_policy = TextField()
    transitions = TransitionAnswer(many=True)
    details = TransitionDetailsAnswer(required=False, help_text="Only when documents have been asked for.")
    pending_decision = PendingDecisionAnswer(
        required=False, help_text="Only to reviewers, while a decision waits for a second one (`four_eyes`)."
    )


class AnchorAnswer(ResponseSerializer):
    """A record and where the ledger has it."""

    status = TextField(help_text="anchored or pending")
    record = TextField(help_text="The anchored text: canonical JSON.")
    record_sha256 = TextField()
    anchored_at = serializers.DateTimeField(allow_null=True)
    block_number = Int64Field(allow_null=True)
    proof = FreeField(allow_null=True, help_text="The ledger's proof, as it was when the decision was anchored.")
    proof_file = TextField(
        source="kept_proof_file", allow_null=True, help_text="The same as a file (C2SP tlog-proof) to check offline."
    )


class DecisionAnswer(AnchorAnswer):
    """One decision and where the ledger has it."""

    position = Int64Field(source="history.position", help_text="Which move of the application it was.")


class DecisionProofAnswer(DecisionAnswer):
    """The newest decision about an application, every one in order, and every time that one was taken up."""

    application_id = TextField()
    decisions = DecisionAnswer(many=True)
    acceptances = AnchorAnswer(many=True)
