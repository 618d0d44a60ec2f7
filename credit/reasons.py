"""Why credit is refused: the principal reasons of Regulation B's sample notification.

The list is form C-1 in appendix C to 12 CFR 1002. A consumer who is turned down is owed the principal reasons, most
important first; more than four are not likely to help (comment 9(b)(2)-1). Codes are ours and stay: rows in the
history name them.
"""

PRINCIPAL_MAX = 4

REASONS = {
    "application_incomplete": "Credit application incomplete",
    "references_insufficient": "Insufficient number of credit references provided",
    "references_unacceptable": "Unacceptable type of credit references provided",
    "references_unverifiable": "Unable to verify credit references",
    "employment_irregular": "Temporary or irregular employment",
    "employment_unverifiable": "Unable to verify employment",
    "employment_short": "Length of employment",
    "income_insufficient": "Income insufficient for amount of credit requested",
    "obligations_excessive": "Excessive obligations in relation to income",
    "income_unverifiable": "Unable to verify income",
    "residence_short": "Length of residence",
    "residence_temporary": "Temporary residence",
    "residence_unverifiable": "Unable to verify residence",
    "no_credit_file": "No credit file",
    "credit_experience_limited": "Limited credit experience",
    "performance_poor": "Poor credit performance with us",
    "obligations_delinquent": "Delinquent past or present credit obligations with others",
    "collection_or_judgment": "Collection action or judgment",
    "garnishment_or_attachment": "Garnishment or attachment",
    "foreclosure_or_repossession": "Foreclosure or repossession",
    "bankruptcy": "Bankruptcy",
    "inquiries_recent": "Number of recent inquiries on credit bureau report",
    "collateral_insufficient": "Value or type of collateral not sufficient",
}


def texts_of(codes: list[str]) -> list[str]:
    return [REASONS[code] for code in codes]
