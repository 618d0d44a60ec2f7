"""Bodies, queries and answers of this app (specification sections 2.1, 2.2, 2.4, 2.5, 4.2)."""

from typing import Any

from rest_framework import serializers

from config.api.serializers import (
    FilterSet,
    FlagField,
    FreeField,
    IdField,
    Int32Field,
    Int64Field,
    OneOfField,
    PageAnswer,
    PageQuery,
    QueryFilter,
    QueryInt64Field,
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
from credit.scoring.serializers import OUTCOMES, ChangeAnswer, ReasonAnswer


class ApplicationBody(RequestSerializer):
    """CreateApplication."""

    consumer_id = IdField(help_text="Who applies: your own user_id, as text.")
    offer_id = Int64Field(help_text="The offer that is applied for.")
    provider_id = Int64Field()
    application_data = FreeField(allow_null=True, default=None)
    initial_status = StatusField(
        MACHINE.statuses,
        allow_null=True,
        default=DRAFT,
        help_text="`draft`, or `submitted` to send it at once. Null is `draft`.",
    )


class ApplicationChangeBody(RequestSerializer):
    """UpdateApplication: replaces the members that are present."""

    updated_by = IdField()
    application_data = FreeField(allow_null=True, required=False)
    notes = TextField(allow_null=True, required=False, help_text="Free text for people; null empties it.")


class ApplicationStatusBody(RequestSerializer):
    """UpdateApplicationStatus."""

    status = StatusField(MACHINE.statuses, help_text="The status to move to.")
    updated_by = IdField()
    reason = TextField(
        allow_null=True, default=None, help_text="Why, for people to read; null where there is nothing to say."
    )
    metadata = FreeField(
        allow_null=True,
        default=None,
        help_text="Kept with the move. A rejection names its principal reasons here, as `reasons`.",
    )


class ApplicationQuery(PageQuery):
    consumer_id = IdField(required=False)


class ApplicationFilter(FilterSet):
    provider_id = QueryFilter(QueryInt64Field(required=False, help_text="Only those to this provider."))
    offer_id = QueryFilter(QueryInt64Field(required=False, help_text="Only those for this offer."))
    status = QueryFilter(StatusField(MACHINE.statuses, required=False))


class ApplicationAnswer(ResponseSerializer):
    """An application."""

    id = serializers.UUIDField(help_text="The application's id.")
    consumer_id = TextField()
    offer_id = Int64Field(help_text="The offer that is applied for.")
    provider_id = Int64Field(help_text="The provider that it goes to.")
    status = StatusField(MACHINE.statuses, help_text="Where it stands; `transitions` says what can follow.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    application_data = FreeField(allow_null=True)
    notes = TextField(allow_null=True)
    reviewed_at = serializers.DateTimeField(allow_null=True)
    reviewed_by = TextField(allow_null=True)
    status_reason = TextField(allow_null=True)
    submitted_at = serializers.DateTimeField(allow_null=True)


class InboxFilter(FilterSet):
    status = QueryFilter(StatusField(MACHINE.statuses, required=False))
    offer_id = QueryFilter(QueryInt64Field(required=False, help_text="Only those for this offer."))
    submitted_from = QueryFilter(
        QueryTimeField(required=False, help_text="The earliest submission."), "submitted_at", "gte"
    )
    submitted_to = QueryFilter(
        QueryTimeField(required=False, help_text="The latest submission."), "submitted_at", "lte"
    )


class InboxApplicationAnswer(ApplicationAnswer):
    """An application as the provider sees it to which it was sent."""

    accepted_at = serializers.DateTimeField(allow_null=True, help_text="When the consumer took the approval up.")


class InboxAnswer(PageAnswer):
    """A page of what was submitted to a provider."""

    applications = InboxApplicationAnswer(many=True, help_text="Those submitted to the provider.")


class ProviderAnswer(ResponseSerializer):
    """A provider that the caller acts for."""

    provider_id = TextField(source="id", help_text="The provider's id.")
    owner_id = TextField(help_text="The user_id of the account that used the id first.")
    created_at = serializers.DateTimeField(help_text="When the id was first used (UTC).")


class ProvidersAnswer(PageAnswer):
    """A page of providers."""

    providers = ProviderAnswer(many=True, help_text="Those that the caller acts for.")


class MemberBody(RequestSerializer):
    """Who is to act for a provider."""

    username = IdField(help_text="The name that the new member logs in with.")


class MemberAnswer(ResponseSerializer):
    """An account that acts for a provider."""

    user_id = TextField(help_text="The account's user_id.")
    username = TextField(source="user.username")
    is_owner = FlagField(help_text="Whether it is the account that used the provider's id first.")


class MembersAnswer(PageAnswer):
    """A page of a provider's members."""

    members = MemberAnswer(many=True, help_text="Who acts for the provider.")


class AcceptanceBody(RequestSerializer):
    """The terms that are accepted."""

    terms_sha256 = IdField(help_text="Of the terms that were read: `terms_sha256` of the answer to GET.")


class AcceptanceAnswer(ResponseSerializer):
    """What there is to accept, and whether that was done."""

    acceptable = FlagField(help_text="Whether it can be taken up now.")
    terms = FreeField(allow_null=True, help_text="The offer's, as pinned at the submission; null for one not listed.")
    terms_sha256 = TextField(help_text="The SHA-256 of the canonical JSON of `terms`, in hex.")
    expires_at = serializers.DateTimeField(allow_null=True, help_text="Until when the approval can be taken up.")
    accepted_at = serializers.DateTimeField(allow_null=True, help_text="When it was taken up (UTC); null before.")


class PendingDecisionAnswer(ResponseSerializer):
    """A decision that one reviewer has proposed and a second one has to confirm."""

    to = StatusField(sorted(DECIDED), help_text="The status that was proposed.")
    proposed_by = TextField(help_text="The proposer's user_id, or the scoring model as `model:<id>@<version>`.")
    proposed_at = serializers.DateTimeField(help_text="When it was proposed (UTC).")
    data_sha256 = TextField(help_text="Of the canonical JSON of the data that it is bound to.")


class ReviewedApplicationAnswer(ApplicationAnswer):
    """An application as its reviewers see it."""

    pending_decision = PendingDecisionAnswer(
        required=False, help_text="Only to reviewers, while a decision waits for a second one (`four_eyes`)."
    )


class HistoryEntryAnswer(ResponseSerializer):
    """One status entered."""

    status = StatusField(MACHINE.statuses, help_text="The status that was entered.")
    changed_by = TextField(help_text="Who moved it, as `updated_by` said.")
    changed_at = serializers.DateTimeField(help_text="When it was entered (UTC).")
    reason = TextField(allow_null=True)


class HistoryAnswer(ResponseSerializer):
    """Every status entered, in order."""

    application_id = TextField()
    history = HistoryEntryAnswer(many=True, help_text="The earliest first.")


class TransitionAnswer(ResponseSerializer):
    """A move, whether the caller may make it now, and if not, why."""

    to = StatusField(MACHINE.statuses, help_text="The status to move to.")
    by = TextField(help_text="owner, reviewer, either or system")
    allowed = FlagField(help_text="Whether the caller may make the move now.")
    code = TextField(allow_null=True, help_text="The error that the move would meet.")
    why = TextField(allow_null=True, help_text="What stands against it, for people; null where nothing does.")


class DocumentRequestBody(RequestSerializer):
    """Documents to ask the consumer for."""

    names: Any = StrictListField(
        child=IdField(),
        min_length=1,
        max_length=DOCUMENTS_MAX,
        help_text="What to ask for: each becomes a document on the checklist.",
    )
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

    id = serializers.UUIDField(help_text="The file's id.")
    name = TextField(help_text="The name that the file came with.")
    content_type = TextField(help_text="application/pdf, image/jpeg or image/png, by its content")
    size_bytes = Int64Field(help_text="In bytes.")
    sha256 = TextField(help_text="The SHA-256 of the file, in hex.")
    received_at = serializers.DateTimeField(help_text="When it was handed in (UTC).")


class DocumentFilesAnswer(ResponseSerializer):
    """The files of a document."""

    files = DocumentFileAnswer(many=True, help_text="The earliest first.")
    total = Int64Field()


class RequestedDocumentAnswer(ResponseSerializer):
    """A document that a reviewer asked for."""

    id = serializers.UUIDField(help_text="The document's id.")
    name = TextField(help_text="What was asked for.")
    status = TextField(help_text="requested, received or accepted")
    reason = TextField(help_text="Why it is asked for again; empty the first time.")
    requested_at = serializers.DateTimeField(help_text="When it was asked for (UTC).")
    received_at = serializers.DateTimeField(
        allow_null=True, help_text="When the newest file was handed in (UTC); null before."
    )
    accepted_at = serializers.DateTimeField(
        allow_null=True, help_text="When a reviewer accepted it (UTC); null before."
    )
    files = DocumentFileAnswer(many=True, source="kept_files", help_text="What was handed in for it.")


class DocumentsAnswer(ResponseSerializer):
    """An application's checklist."""

    documents = RequestedDocumentAnswer(many=True, help_text="What was asked for.")
    total = Int64Field()


class TransitionDetailsAnswer(ResponseSerializer):
    """What the next move waits for."""

    documents = RequestedDocumentAnswer(many=True, help_text="What was asked for, and what of it is there.")


class TransitionsAnswer(ResponseSerializer):
    """The moves out of the current status."""

    application_id = TextField()
    status = StatusField(MACHINE.statuses, help_text="Where it stands now.")
    review_policy = TextField(
        help_text="`open`, `reviewed` or `four_eyes`: who decides here, the caller, one reviewer or two."
    )
    transitions = TransitionAnswer(many=True, help_text="Every move out of this status.")
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
    decisions = DecisionAnswer(many=True, help_text="Every decision, in order.")
    acceptances = AnchorAnswer(many=True, help_text="Every time that an approval was taken up.")


class ScoreAnswer(ResponseSerializer):
    """What a scoring model made of an application when it was submitted."""

    score = Int64Field(help_text="The total of the points.")
    range: Any = StrictListField(child=Int64Field(), help_text="The lowest and the highest score there is.")
    scored_at = serializers.DateTimeField(help_text="When it was computed (UTC).")
    model_id = Int64Field(help_text="The scoring model that computed it.")
    version = Int32Field(help_text="The number of the model's version that computed it.")
    outcome = OneOfField(OUTCOMES, help_text="`refer`: the model leaves it to people.")
    reasons = ReasonAnswer(many=True, help_text="At most four, the most important first.")
    changes = ChangeAnswer(
        many=True, allow_null=True, help_text="The smallest first; null once the facts of the score are erased."
    )


class BundleAnswer(ResponseSerializer):
    """The newest decision as a file to keep: each member is the exact text that was hashed."""

    record = TextField(help_text="What the ledger anchors: canonical JSON.")
    proof_file = TextField(allow_null=True, help_text="The ledger's proof of `record`; null while it is not anchored.")
    definition = TextField(allow_null=True, help_text="The scorecard, canonical JSON; null where nothing was scored.")
    facts = TextField(allow_null=True, help_text="What was scored, canonical JSON; null once it is erased.")
    nonce = TextField(allow_null=True, help_text="What is hashed before the facts, in base64.")
