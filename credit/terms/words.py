"""A loan as people read it."""

from collections.abc import Mapping
from typing import Any

from credit.applications.figures import money


def in_words(terms: Mapping[str, Any]) -> str:
    """Return a loan as one line."""
    for_months = f" for {terms['term_months']} months" if terms.get("term_months") else ", a line of credit"
    fee = f", fee {money(terms['fee_cents'])}" if terms.get("fee_cents") else ""
    return f"{money(terms['amount_cents'])} at {terms['rate_percent']} %{for_months}{fee}"


def rows_of(terms: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what a loan costs, named; only that it is a line of credit where nothing is computed."""
    if terms["term_months"] is None:
        return [("Line of credit", f"{money(terms['amount_cents'])} at {terms['rate_percent']} %")]
    names = ("payment", "final_payment", "finance_charge", "amount_financed", "total_of_payments")
    titles = ("Monthly payment", "Final payment", "Finance charge", "Amount financed", "Total of payments")
    shown = [(title, money(terms[f"{name}_cents"])) for name, title in zip(names, titles, strict=True)]
    return [("Annual percentage rate", f"{terms['apr_percent']} %"), *shown]
