from django.db import migrations

from config.core.append_only import AllowErasure


class Migration(migrations.Migration):
    dependencies = [("credit", "0025_precontract_never_changes")]

    operations = [
        AllowErasure("credit_documentfile", ["name"]),
        AllowErasure("credit_applicationhistory", ["reason", "metadata"]),
        AllowErasure("credit_applicationrevision", ["changes"]),
        AllowErasure(
            "credit_loanterms",
            [
                "amount_cents", "rate_percent", "term_months", "fee_cents", "first_payment_on", "payment_cents",
                "final_payment_cents", "total_of_payments_cents", "finance_charge_cents", "amount_financed_cents",
                "apr_percent",
            ],
        ),
        AllowErasure("credit_noticehistory", ["reason", "metadata"]),
        AllowErasure("credit_delivery", ["evidence"]),
        AllowErasure(
            "credit_counteroffer",
            ["reasons", "consumer_report", "four_eyes"],
            never_change=[
                "application_id", "loan_terms_id", "reasons", "seen", "offered_at", "offered_by", "four_eyes",
                "principal_id", "with_denial", "consumer_report",
            ],
        ),
        AllowErasure("credit_score", ["points", "total", "outcome", "segment", "reasons", "missing", "sources"]),
    ]
