"""JSON Schemas of loan terms, reasons, reports, inclusion proofs, and scorecards, which are JSON values of the API.

The OpenAPI document has them as components, to which fields refer with `shape`. Only the documentation uses these
schemas. Services validate the values.
"""

from typing import Any

from config.api.serializers import OPEN_OBJECT
from credit.core.consumer_reports import CATEGORIES_MAX, FACTORS_MAX, REPORTS_MAX, TEXT_MAX
from credit.core.reasons import OTHER, OTHER_TEXT_MAX, PRINCIPAL_MAX, REASONS
from credit.scoring.definition import SCHEMA

Schema = dict[str, Any]


def typed(kind: str | list[str], description: str, **keywords: Any) -> Schema:
    return {"type": kind, "description": description, **keywords}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


_INTEGER, _NUMBER, _TEXT = ["integer", "null"], ["number", "null"], ["string", "null"]
_NOT_OF_LINE, _NO_SCORE = "Null for a line of credit.", "Null or absent without a score."
_ONLY_EU = "Absent unless the offer's `jurisdiction` is `eu`."
_LOAN: dict[str, Schema] = {
    "amount_cents": typed(
        _INTEGER,
        "The amount of the loan, or the limit of a line of credit. Null only if the European information form of an "
        "offer assumes a credit limit.",
    ),
    "rate_percent": typed("number", "The note rate per year, in percent."),
    "term_months": typed(_INTEGER, f"The number of monthly payments. {_NOT_OF_LINE}"),
    "fee_cents": typed("integer", "The fee. 0 if there is none."),
    "first_payment_on": typed(
        _TEXT, "The date of the first payment. Null if the date depends on the start of the loan.", format="date"
    ),
}
# A value that is null or absent in a request has its default.
_LOAN_REQUEST: dict[str, Schema] = {
    "amount_cents": typed(
        _INTEGER, "The amount of the loan, or the limit of a line of credit. Default: the amount of the application."
    ),
    "rate_percent": typed(
        _NUMBER,
        "The note rate per year, in percent. Default: the offer's lowest rate, or its highest rate if it has no lowest "
        "rate.",
    ),
    "term_months": typed(
        _INTEGER, "The number of monthly payments. Default: the term of the application, or null for a line of credit."
    ),
    "fee_cents": typed(_INTEGER, "The fee. Default: 0."),
    "first_payment_on": typed(
        _TEXT,
        "The date of the first payment. Null or absent if the date depends on the start of the loan.",
        format="date",
    ),
}
_EU_REJECTION = (
    "Required for a rejection or a counteroffer about an offer with `jurisdiction` `eu`. Otherwise it can be null or "
    "absent."
)
_REPORT: dict[str, Schema] = {
    "agency": typed("string", "The name of the agency.", maxLength=TEXT_MAX),
    "address": typed("string", "The address of the agency.", maxLength=TEXT_MAX),
    "phone": typed("string", "The phone number of the agency.", maxLength=TEXT_MAX),
    "score": typed(
        _INTEGER, "The score. A score requires `range`, `date`, and `factors`. Null or absent if the report has none."
    ),
    "range": typed(
        ["array", "null"],
        f"The lowest and the highest possible score. {_NO_SCORE}",
        items={"type": "integer"},
        minItems=2,
        maxItems=2,
    ),
    "date": typed(_TEXT, f"The date of the score. {_NO_SCORE}", format="date"),
    "factors": typed(
        ["array", "null"],
        f"Up to {FACTORS_MAX} key factors, and one about inquiries. {_NO_SCORE}",
        items={"type": "string"},
    ),
    "ranks_above_percent": typed(
        _INTEGER,
        "The percentage of consumers with a lower score. Required with a score if the offer's `risk_based_pricing` is "
        "`score_disclosure`, unless the application is rejected. Otherwise it can be null or absent.",
    ),
    "applicant": typed("integer", "The number of the report's applicant: 1 or 2. Absent means 1."),
    "result": typed(_TEXT, f"The result of a database query. {_EU_REJECTION}"),
    "categories": typed(
        ["array", "null"],
        f"The categories of the report's data. {_EU_REJECTION}",
        items={"type": "string"},
        maxItems=CATEGORIES_MAX,
    ),
    "supplier": typed(_TEXT, "The company that supplied the report to the agency. Null or absent if there is none."),
}
_OTHER_REASON = typed(
    "object",
    "Another reason.",
    required=["code", "text"],
    properties={
        "code": typed("string", "Always `other`.", enum=[OTHER]),
        "text": typed("string", "The specific factor in words.", maxLength=OTHER_TEXT_MAX),
    },
)
_PROOF: dict[str, Schema] = {
    "hash": typed("string", "The SHA-256 of the record, in hex."),
    "index": typed("integer", "The index of the entry in the log, from 0."),
    "entry": typed("string", "The entry in the log, in hex."),
    "commitment": typed("string", "The commitment to the record's metadata, in hex."),
    "leaf_hash": typed("string", "The hash of the leaf, in hex."),
    "tree_size": typed("integer", "The size of the tree, in entries."),
    "root": typed("string", "The root of the tree, in hex."),
    "audit_path": typed("array", "The hashes from the leaf to the root, in hex.", items={"type": "string"}),
    "checkpoint": typed("string", "The signed checkpoint of the tree."),
    "block_number": typed("integer", "The number of the record's block."),
    "timestamp": typed("string", "When the ledger wrote the block (UTC)."),
}
COMPONENTS: dict[str, Schema] = {
    "LoanTermsRequest": typed(
        "object",
        "The terms of a loan. If a value is null or absent, the API uses its default.",
        properties=_LOAN_REQUEST,
        additionalProperties=False,
    ),
    "LoanTerms": typed(
        "object",
        "The terms and the cost of a loan. The SHA-256 of this object as canonical JSON is `terms_sha256`. A proposed "
        "counteroffer has only the fields from `amount_cents` to `first_payment_on`.",
        properties={
            "application_id": typed("string", "The application's id.", format="uuid"),
            "kind": typed("string", "The kind of the terms: `approval` or `counteroffer`."),
            **_LOAN,
            "payment_cents": typed(_INTEGER, f"The amount of each monthly payment except the last. {_NOT_OF_LINE}"),
            "final_payment_cents": typed(_INTEGER, f"The last payment. {_NOT_OF_LINE}"),
            "total_of_payments_cents": typed(_INTEGER, f"The sum of all payments. {_NOT_OF_LINE}"),
            "finance_charge_cents": typed(_INTEGER, f"The cost of the loan: interest and fee. {_NOT_OF_LINE}"),
            "amount_financed_cents": typed(_INTEGER, f"The amount less the fee. {_NOT_OF_LINE}"),
            "apr_percent": typed(_NUMBER, f"The annual percentage rate. {_NOT_OF_LINE}"),
            "method": typed(
                _TEXT,
                "The method of the annual percentage rate: `us_appendix_j` or `eu_annex_iii`. Null for a line of "
                "credit of an offer with `jurisdiction` `us`.",
            ),
            "currency": typed("string", f"The ISO 4217 code of the currency. {_ONLY_EU}"),
            "fee_financed": typed("boolean", f"Whether the lender deducts the fee from the payout. {_ONLY_EU}"),
            "total_credit_cents": typed("integer", f"The total amount of credit. {_ONLY_EU}"),
            "total_cost_cents": typed(_INTEGER, f"The total cost of the credit. {_NOT_OF_LINE} {_ONLY_EU}"),
            "total_payable_cents": typed(_INTEGER, f"The total amount payable. {_NOT_OF_LINE} {_ONLY_EU}"),
        },
    ),
    "ConsumerReport": typed(
        "object",
        "A consumer report that the platform does not store.",
        required=["agency", "address", "phone"],
        properties=_REPORT,
    ),
    "DecisionMetadata": typed(
        "object",
        "Data about a decision.",
        properties={
            "reasons": typed(
                ["array", "null"],
                "The principal reasons of a rejection. Null or absent if there are none.",
                items=_ref("PrincipalReason"),
            ),
            "terms": {
                "description": "The loan of an approval. Null or absent means the default terms.",
                "anyOf": [_ref("LoanTermsRequest"), {"type": "null"}],
            },
            "report_ids": typed(
                ["array", "null"],
                "The ids of the used reports, at most 10. Null or absent if there are none. Without `report_ids` and "
                "`consumer_report`, the API adds the reports that the score used.",
                items={"type": "string"},
            ),
            "language": typed(
                _TEXT,
                "The language of `reason` and of reasons in your own words, such as `es`. Null or absent means the "
                "language of the offer.",
            ),
            "consumer_report": {
                "description": f"One report, or a list of up to {REPORTS_MAX} reports for each applicant. The "
                "platform does not store these reports. Null or absent if there is none, and if you send `report_ids`. "
                "Unless `REVIEW_POLICY` is `open`, the API rejects this field if the installation has a vendor of "
                "reports, or if the application has a stored report.",
                "anyOf": [
                    _ref("ConsumerReport"),
                    {"type": "array", "items": _ref("ConsumerReport")},
                    {"type": "null"},
                ],
            },
        },
    ),
    "PrincipalReason": {
        "description": "A reason code of the model form in 12 CFR 1002, or another reason as text.",
        "anyOf": [typed("string", "The code of a reason.", enum=[*REASONS]), _OTHER_REASON],
    },
    "InclusionProof": typed(
        "object",
        "A proof that the ledger contains a record (RFC 9162).",
        required=[*_PROOF],
        properties=_PROOF,
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
EVIDENCE = typed(
    "object",
    "The evidence of a delivery.",
    properties={
        "reference": typed("string", "The reference that you recorded. Only for `post` and `provider`."),
        "mail": typed("string", "The id of the mail. Only for `email`."),
        "opened_with": typed("string", "The credential that opened the notice. Only for `portal`."),
    },
)
SCALAR: Schema = {"type": ["number", "string", "boolean"]}
INSTALMENT = _ref("Instalment")


SCORECARD = _ref("Scorecard")
# This part of a scorecard's schema is omitted, because generators can't read negative patterns.
_FORBIDDING = "writable"


def add_shapes(result: dict[str, Any], **_options: Any) -> dict[str, Any]:
    """Add the components to which the fields refer. The ledger's document has no such components."""
    schemas = result["components"]["schemas"]
    if "CounterofferRequest" in schemas:
        parts = {f"Scorecard{name.title()}": part for name, part in SCHEMA["$defs"].items() if name != _FORBIDDING}
        whole = {name: part for name, part in SCHEMA.items() if name not in {"$schema", "$defs"}}
        schemas |= {name: _placed(part) for name, part in {**parts, "Scorecard": whole}.items()} | COMPONENTS
    return result


def _placed(schema: Any) -> Any:
    """Return a part of a scorecard's JSON Schema with references to components."""
    if isinstance(schema, dict):
        return {
            name: f"{SCORECARD['$ref']}{value.rpartition('/')[2].title()}" if name == "$ref" else _placed(value)
            for name, value in schema.items()
            if (name, value) != ("$ref", f"#/$defs/{_FORBIDDING}")
        }
    return [_placed(part) for part in schema] if isinstance(schema, list) else schema
