"""JSON Schemas of values that the API stores and returns as JSON: loan terms, reasons, reports, and inclusion proofs.

The OpenAPI document has them as components, to which fields refer with `shape`. Only the documentation uses them.
Services validate the values.
"""

from typing import Any

from config.api.serializers import OPEN_OBJECT
from credit.core.consumer_reports import CATEGORIES_MAX, FACTORS_MAX, REPORTS_MAX, TEXT_MAX
from credit.core.reasons import OTHER, OTHER_TEXT_MAX, PRINCIPAL_MAX, REASONS

Schema = dict[str, Any]


def _of(kind: str | list[str], description: str, **keywords: Any) -> Schema:
    return {"type": kind, "description": description, **keywords}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


_INTEGER, _NUMBER, _TEXT = ["integer", "null"], ["number", "null"], ["string", "null"]
_LOAN: dict[str, Schema] = {
    "amount_cents": _of(_INTEGER, "The amount of the loan, or the limit of a line of credit."),
    "rate_percent": _of(_NUMBER, "The note rate a year, in percent."),
    "term_months": _of(_INTEGER, "The number of monthly payments. Null for a line of credit."),
    "fee_cents": _of(_INTEGER, "The fee."),
    "first_payment_on": _of(_TEXT, "The date of the first payment. Null if it depends on the start.", format="date"),
}
_REPORT: dict[str, Schema] = {
    "agency": _of("string", "The name of the agency.", maxLength=TEXT_MAX),
    "address": _of("string", "The address of the agency.", maxLength=TEXT_MAX),
    "phone": _of("string", "The phone number of the agency.", maxLength=TEXT_MAX),
    "score": _of(_INTEGER, "The score. It requires `range`, `date`, and `factors`."),
    "range": _of(
        ["array", "null"],
        "The lowest and the highest possible score.",
        items={"type": "integer"},
        minItems=2,
        maxItems=2,
    ),
    "date": _of(_TEXT, "The date of the score.", format="date"),
    "factors": _of(
        ["array", "null"], f"Up to {FACTORS_MAX} key factors, and one about inquiries.", items={"type": "string"}
    ),
    "ranks_above_percent": _of(_INTEGER, "The percentage of consumers with a lower score."),
    "applicant": _of("integer", "The number of the report's applicant, from 1."),
    "result": _of(_TEXT, "The result of the query of a database."),
    "categories": _of(
        ["array", "null"], "The categories of the report's data.", items={"type": "string"}, maxItems=CATEGORIES_MAX
    ),
    "supplier": _of(_TEXT, "The company that supplied the report."),
}
_OTHER_REASON = _of(
    "object",
    "Another reason.",
    required=["code", "text"],
    properties={
        "code": _of("string", "Always `other`.", enum=[OTHER]),
        "text": _of("string", "The specific factor in words.", maxLength=OTHER_TEXT_MAX),
    },
)
COMPONENTS: dict[str, Schema] = {
    "LoanTermsRequest": _of("object", "The terms of a loan.", properties=_LOAN, additionalProperties=False),
    "LoanTerms": _of(
        "object",
        "The terms and the cost of a loan. The SHA-256 of this object as canonical JSON is `terms_sha256`.",
        properties={
            "application_id": _of("string", "The application's id.", format="uuid"),
            "kind": _of("string", "`approval` or `counteroffer`."),
            **_LOAN,
            "payment_cents": _of(_INTEGER, "Each monthly payment except for the last."),
            "final_payment_cents": _of(_INTEGER, "The last payment."),
            "total_of_payments_cents": _of(_INTEGER, "The sum of all payments."),
            "finance_charge_cents": _of(_INTEGER, "The cost of the loan: interest and fee."),
            "amount_financed_cents": _of(_INTEGER, "The amount without the fee."),
            "apr_percent": _of(_NUMBER, "The annual percentage rate."),
            "method": _of(_TEXT, "The method of the annual percentage rate, such as `us_appendix_j`."),
            "currency": _of("string", "The currency. Only under Directive (EU) 2023/2225."),
            "total_credit_cents": _of(_INTEGER, "The total amount of credit. Only under Directive (EU) 2023/2225."),
            "total_cost_cents": _of(_INTEGER, "The total cost of the credit. Only under Directive (EU) 2023/2225."),
            "total_payable_cents": _of(_INTEGER, "The total amount payable. Only under Directive (EU) 2023/2225."),
        },
    ),
    "ConsumerReport": _of(
        "object",
        "A consumer report that the platform does not store.",
        required=["agency", "address", "phone"],
        properties=_REPORT,
    ),
    "DecisionMetadata": _of(
        "object",
        "Data about a decision.",
        properties={
            "reasons": _of(["array", "null"], "The principal reasons of a rejection.", items=_ref("PrincipalReason")),
            "terms": {"description": "The approved loan.", "anyOf": [_ref("LoanTermsRequest"), {"type": "null"}]},
            "report_ids": _of(["array", "null"], "The ids of the used reports.", items={"type": "string"}),
            "consumer_report": {
                "description": f"A report, or up to {REPORTS_MAX} reports for each applicant, that are not stored.",
                "anyOf": [
                    _ref("ConsumerReport"),
                    {"type": "array", "items": _ref("ConsumerReport")},
                    {"type": "null"},
                ],
            },
        },
    ),
    "PrincipalReason": {
        "description": "A code of the model form of 12 CFR 1002, or another reason in words.",
        "anyOf": [_of("string", "The code of a reason.", enum=[*REASONS]), _OTHER_REASON],
    },
    "InclusionProof": _of(
        "object",
        "A proof that the ledger contains a record (RFC 9162).",
        properties={
            "hash": _of("string", "The SHA-256 of the record, in hex."),
            "index": _of("integer", "The index of the entry in the log, from 0."),
            "entry": _of("string", "The entry in the log, in hex."),
            "commitment": _of("string", "The commitment to the record's metadata, in hex."),
            "leaf_hash": _of("string", "The hash of the leaf, in hex."),
            "tree_size": _of("integer", "The size of the tree, in entries."),
            "root": _of("string", "The root of the tree, in hex."),
            "audit_path": _of("array", "The hashes from the leaf to the root, in hex.", items={"type": "string"}),
            "checkpoint": _of("string", "The signed checkpoint of the tree."),
            "block_number": _of("integer", "The number of the record's block."),
            "timestamp": _of("string", "When the ledger wrote the block (UTC)."),
        },
    ),
}
LOAN_TERMS, LOAN_TERMS_REQUEST, PROOF = _ref("LoanTerms"), _ref("LoanTermsRequest"), _ref("InclusionProof")
OFFER_OR_LOAN = {"anyOf": [LOAN_TERMS, OPEN_OBJECT]}  # the terms of an offer have other fields
REPORTS = {"anyOf": [_ref("ConsumerReport"), {"type": "array", "items": _ref("ConsumerReport")}]}
REASONS_REQUEST = {"type": "array", "items": _ref("PrincipalReason"), "minItems": 1, "maxItems": PRINCIPAL_MAX}
# Stored reasons can have codes that are no longer accepted.
STORED_REASONS = {"type": "array", "items": {"anyOf": [{"type": "string"}, _OTHER_REASON]}}
_ANY = {"type": ["object", "array", "string", "number", "boolean"], "additionalProperties": True, "items": {}}
METADATA: Schema = {"anyOf": [_ref("DecisionMetadata"), _ANY]}  # other statuses accept any JSON
OBJECT = OPEN_OBJECT
EVIDENCE = _of(
    "object",
    "The evidence of a delivery.",
    properties={
        "reference": _of("string", "The reference that you recorded."),
        "mail": _of("string", "The id of the mail."),
        "opened_with": _of("string", "The credential that opened the notice."),
    },
)
SCALAR: Schema = {"type": ["number", "string", "boolean"]}
INSTALMENT = _ref("Instalment")


def add_shapes(result: dict[str, Any], **_options: Any) -> dict[str, Any]:
    """Add the components to which the fields refer. The ledger's document has none."""
    schemas = result["components"]["schemas"]
    if "CounterofferRequest" in schemas:
        schemas |= COMPONENTS
    return result
