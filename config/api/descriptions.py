"""What a member or a parameter means wherever it appears: used where its own field has no `help_text`.

A name that means something else somewhere says so with its field. Times are in UTC, as RFC 3339 has them.
"""

from typing import Any

MEMBERS = {
    "total": "How many there are in all, on this page and on others.",
    "has_more": "Whether there are more behind this page.",
    "limit": "How many to return at most.",
    "offset": "How many to leave out from the beginning of the list.",
    "created_at": "When it was made (UTC).",
    "updated_at": "When it last changed (UTC).",
    "expires_at": "When it ends (UTC).",
    "decided_at": "When it was approved or rejected (UTC); null before.",
    "anchored_at": "When the ledger took it up (UTC); null before.",
    "processed_at": "When it was completed (UTC); null before.",
    "connected_at": "When it was connected (UTC).",
    "staged_at": "When it was staged (UTC).",
    "name": "What people call it.",
    "description": "What it is, for people to read.",
    "label": "What people call it.",
    "status": "How it stands now.",
    "reason": "Why, for people to read; null where nobody said.",
    "notes": "Free text for people; null where there is none.",
    "note": "What is new in this version, for people to read; may be empty.",
    "url": "Where events are sent: an https address.",
    "username": "The name that the account logs in with.",
    "user_id": "Your own user_id, as text.",
    "provider_id": "The provider of the offer.",
    "consumer_id": "The account of the person who applies.",
    "offer_id": "The offer's id.",
    "application_id": "The application's id.",
    "model_id": "The scoring model's id.",
    "payment_id": "The payment's id.",
    "wallet_id": "The wallet's id.",
    "account_id": "The id of the account at the bank, as the bank's provider has it.",
    "item_id": "The id of the linked bank; an item has one or more accounts.",
    "transaction_id": "The processor's id of the charge; null before there is one.",
    "updated_by": "Who makes the change, in your words. The account that sends it is kept beside it.",
    "application_data": "What the person says: any JSON that you and the provider agree on; null for nothing.",
    "reviewed_at": "When it was approved or rejected (UTC); null before.",
    "reviewed_by": "Who approved or rejected it, as `updated_by` said; null before.",
    "status_reason": "The reason given with the last move; null where there was none.",
    "submitted_at": "When it was first submitted (UTC); null before.",
    "product_type": "The kind of credit, such as `personal_loan` or `credit_card`.",
    "apr_min_percent": "The lowest annual percentage rate: 7.5 is 7.5 %. Null where the provider names none.",
    "apr_max_percent": "The highest annual percentage rate: 24.99 is 24.99 %. Null where the provider names none.",
    "loan_amount_min_cents": "The smallest loan, in cents; null for no lower bound.",
    "loan_amount_max_cents": "The largest loan, in cents; null for no upper bound.",
    "amount_min_cents": "The smallest amount financed, in cents; null for no lower bound.",
    "amount_max_cents": "The largest amount financed, in cents; null for no upper bound.",
    "price_means": "What the prices of this catalogue are: what is lent, not what it costs.",
    "term_options_months": "How long the loan may run, in months: each a choice. Null where the provider names none.",
    "nationwide": "Whether it is made in every US state but the excluded ones; null where nothing is said.",
    "included_states": "US two-letter codes of where it is made, unless nationwide; null or empty for everywhere.",
    "excluded_states": "US two-letter codes of where it is not made; null for none.",
    "customer_segment": "Whom it is for, as a scoring model's segments are named; null for everybody.",
    "blockscore_model_id": "The scoring model that scores its applications, by its `id`; null for none.",
    "ab_test_variant": "The name of the test that it is part of; null for none.",
    "ab_test_allocation": "The share of people, in percent, to whom a tested offer is shown; null for everybody.",
    "is_default": "Whether it is used where none is named.",
    "processor_type": "Who processes charges to it.",
    "acknowledged": "True where methods are not kept, only acknowledged.",
    "persisted": "Whether it was kept.",
    "amount_cents": "In cents.",
    "fee_amount_cents": "What the processing costs, in cents.",
    "net_amount_cents": "The amount less the fee, in cents.",
    "currency": "Three letters, as ISO 4217 has them; null where it is not known.",
    "amount_usdc": "In the smallest units of USDC: 1,000,000 are one dollar.",
    "network": "The EVM network by its CAIP-2 id, such as `eip155:8453`, or an alias such as `base`; null: ours.",
    "address": "An EVM address: 0x and 40 hex digits.",
    "to_address": "The EVM address that is paid: 0x and 40 hex digits.",
    "tx_hash": "The hash of the transaction: 0x and 64 hex digits.",
    "simulated": "Whether the network is played by this platform and no funds move.",
    "confirmations": "How many blocks of the network hold or follow the transaction; 0 before it is in one.",
    "verification_level": "How far it is verified: said by oneself, with evidence, or confirmed by others.",
    "visibility": "Who sees it: its owner (`private`), those whom its owner lets (`conditional`), all (`shared`).",
    "evidence": "Addresses (http or https, never fetched) or documents; null is nothing new.",
    "number": "Counts from 1.",
    "published_by": "The user_id of whoever gave it its role; null before.",
    "event_types": 'Names of event types, or ["*"] for all, future ones included.',
    "disabled_reason": "Why nothing is sent to it; null while it is enabled.",
    "scopes": "What the credential may do; null is everything that the account may do.",
    "refresh_token": "Gets the next pair of tokens, once.",
    "client_id": "The app's id; here, or by HTTP Basic.",
    "client_secret": "The app's secret, where it has one; here, or by HTTP Basic.",
    "code": "What happened, for a program.",
    "message": "What happened, for a person.",
    "messages": "What else there is to say: what was not found, what was left aside.",
    "ucp": "The protocol's own member.",
    "context": "What is known of the buyer.",
    "signals": "What else is known, by names such as com.example.gold; not used.",
    "attribution": "Where the buyer comes from; not used.",
    "filters": "What narrows the products.",
    "pagination": "Which page it is, or is to be.",
    "products": "The offers that were found.",
    "title": "A heading for people.",
    "options": "What there is to choose: the term.",
    "record_sha256": "The SHA-256 of `record`, in hex: what the ledger holds.",
    "block_number": "The block of the ledger that holds it; null before.",
    # Of the ledger.
    "hash": "The SHA-256 of the report, in hex.",
    "report_type": "What kind of report it is, in the words of whoever anchors it.",
    "report_data": "The report itself, which the ledger hashes and does not keep: 1 byte to 10 MiB in UTF-8.",
    "index": "The entry's place in the log, from 0.",
    "leaf_hash": "The hash of the entry in the Merkle tree (RFC 9162), in hex.",
    "commitment": "Binds the user, the type and the time to the hash without telling them, in hex.",
    "tree_size": "How many entries the tree has.",
    "root": "The root hash of the tree, in hex.",
    "checkpoint": "The signed tree head, as a signed note (C2SP tlog-checkpoint).",
    "block_height": "The number of the newest block; 0 before the first.",
    "is_syncing": "Whether a block is being written.",
    "peers": "How many witnesses have cosigned within the last hour.",
}

# With the piece of the path before it where the name alone does not tell.
PARAMETERS = {
    "application_id": "The application's id.",
    "claim_id": "The claim's id.",
    "delivery_id": "The delivery's id, from the delivery log.",
    "document_id": "The id of a document on the application's checklist.",
    "endpoint_id": "The webhook endpoint's id.",
    "file_id": "The id of a file that was handed in.",
    "item_id": "The id of a staged item.",
    "key_id": "The id that the new API key has.",
    "method_id": "The payment method's id.",
    "model_id": "The scoring model's id.",
    "offer_id": "The offer's id.",
    "payment_id": "The payment's id.",
    "provider_id": "The provider's id.",
    "tx_hash": "The hash of a transaction: 0x and 64 hex digits.",
    "user_id": "Whose: an account's user_id.",
    "verification_id": "The identity verification's id.",
    "wallet_id": "The wallet's id.",
    "versions/{number}": "The number of a version of the model, from 1.",
    "blocks/{number}": "The number of a block, from 1.",
    "report_hash": "The SHA-256 of a report: 64 hex digits.",
    "path": "Which tile, as C2SP tlog-tiles names it: `0/000`, or `entries/x001/234.p/7`.",
    "status": "Only those that stand so now.",
    "consumer_id": "Only those of this person.",
}


def describe_members(schema: dict[str, Any]) -> None:
    """Give each member of a schema that has no description the one of its name."""
    for name, member in schema.get("properties", {}).items():
        text = MEMBERS.get(name)
        if text is None or "description" in member:
            continue
        if "$ref" in member:  # as drf-spectacular writes a reference with a description
            member["allOf"] = [{"$ref": member.pop("$ref")}]
        member["description"] = text


def describe_parameters(path: str, operation: dict[str, Any]) -> None:
    """Give each parameter of an operation that has no description the one of its name."""
    pieces = path.split("/")
    before = dict(zip(pieces[1:], pieces, strict=False))
    for parameter in operation.get("parameters", ()):
        name = parameter["name"]
        for key in (f"{before.get(f'{{{name}}}')}/{{{name}}}", name):
            text = PARAMETERS.get(key) or MEMBERS.get(key)
            if text is not None:
                parameter.setdefault("description", text)
                break
