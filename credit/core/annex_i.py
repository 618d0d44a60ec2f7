"""Rows of the Standard European Consumer Credit Information form (Directive (EU) 2023/2225, Annex I).

Each row has a number, a part, a title, and a source. The source is either the key of an offer's text or the name of a
value that `credit.terms.precontract` computes.
"""

from typing import NamedTuple

from django.utils.translation import gettext_noop as _


class Row(NamedTuple):
    """A row of the form.

    `name` is the key of an offer's text (`credit.core.eu_credit.TEXTS`), or the name of a computed value.
    """

    part: str
    title: str
    name: str


PARTS = {
    "I": _("Key information, part I"),
    "II": _("Key information, part II"),
    "1": _("1. Main features of the credit"),
    "2": _("2. Costs of the credit"),
    "3": _("3. Other legal aspects"),
    "4": _("4. Distance marketing of financial services"),
    "": _("This form"),
}
KEY_PARTS = ("I", "II")
TITLE = _("Standard European Consumer Credit Information")
ROWS = tuple(
    Row(*row)
    for row in (
        ("I", _("Title of the form"), "title"),
        ("I", _("Creditor: identity"), "creditor"),
        ("I", _("Credit intermediary: identity"), "intermediary"),
        ("I", _("Total amount of credit"), "total_credit"),
        ("I", _("Duration of the credit agreement"), "duration"),
        ("I", _("Borrowing rate"), "rate"),
        ("I", _("Annual percentage rate of charge (APR)"), "apr"),
        ("I", _("Total amount you will have to pay"), "total_payable"),
        ("I", _("Goods or services: name"), "goods"),
        ("I", _("Goods or services: cash price"), "cash_price"),
        ("I", _("Costs in the case of late payments"), "late_payment"),
        ("II", _("Instalments: amount, number, and frequency"), "instalments"),
        ("II", _("Order in which instalments are allocated"), "allocation"),
        ("II", _("How interest and charges are payable"), "interest_and_charges"),
        ("II", _("Warning: missing or late payments"), "warning"),
        ("II", _("Right of withdrawal"), "withdrawal"),
        ("II", _("Early repayment: right"), "repayment_right"),
        ("II", _("Early repayment: compensation of the creditor"), "early_repayment"),
        ("II", _("Creditor: geographical address"), "address"),
        ("II", _("Creditor: telephone"), "phone"),
        ("II", _("Creditor: e-mail"), "email"),
        ("II", _("Creditor: web address"), "none"),
        ("II", _("Intermediary: geographical address"), "see_intermediary"),
        ("II", _("Intermediary: telephone"), "see_intermediary"),
        ("II", _("Intermediary: e-mail"), "see_intermediary"),
        ("II", _("Intermediary: web address"), "see_intermediary"),
        ("1", _("Type of credit"), "credit_type"),
        ("1", _("Conditions of the drawdown"), "drawdown"),
        ("1", _("Other drawdown mechanisms that may cost more"), "drawdown_mechanisms"),
        ("1", _("Sureties required"), "sureties"),
        ("1", _("Repayments that do not amortize the credit at once"), "amortisation"),
        ("1", _("Price personalized by automated decision-making"), "personalized"),
        ("2", _("Borrowing rate: fixed, or variable with its index"), "rate_index"),
        ("2", _("Borrowing rate: periods and conditions"), "rate_periods"),
        ("2", _("Borrowing rate: procedures for changing it"), "rate_changes"),
        ("2", _("Representative example, with all assumptions"), "example"),
        ("2", _("Compulsory insurance that secures the credit"), "insurance"),
        ("2", _("Another compulsory ancillary service"), "ancillary"),
        ("2", _("Costs that are not known to the creditor"), "unknown_costs"),
        ("2", _("Cost of compulsory accounts"), "accounts"),
        ("2", _("Cost of a means of payment"), "means_of_payment"),
        ("2", _("Any other charges"), "charges"),
        ("2", _("Conditions under which charges change"), "charge_changes"),
        ("2", _("Notarial costs"), "notary"),
        ("3", _("Compensation at early repayment: calculation"), "compensation"),
        ("3", _("Consultation of a database"), "database"),
        ("3", _("Right to a draft of the agreement"), "draft"),
        ("3", _("Validity of this information"), "validity"),
        ("3", _("Redress out of court, and how to reach it"), "redress"),
        ("3", _("Warning: other non-compliance with the agreement"), "default"),
        ("3", _("Repayment schedule"), "schedule"),
        ("3", _("Benchmark: name, administrator, and implications"), "benchmark"),
        ("4", _("Creditor's representative in your country"), "representative"),
        ("4", _("Registration: register and number"), "register_number"),
        ("4", _("Supervisory authority"), "supervisor"),
        ("4", _("Exercise of the right of withdrawal"), "exercise"),
        ("4", _("Law of the relations before the conclusion"), "governing_law"),
        ("4", _("Clause on governing law and court"), "court"),
        ("4", _("Language of information and communication"), "language"),
        ("", _("Layout"), "layout"),
    )
)
