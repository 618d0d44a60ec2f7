"""Values on back office pages: days and times in one format, titles for fields, names for codes."""

from datetime import UTC, datetime
from html import unescape

from config.backoffice.html import details, moment, title_of


def text(value):
    return unescape(str(details(value)))


def test_back_office_field_has_a_title_and_a_formatted_value():
    for name, value, cells in [
        ("received_at", "2026-11-23T14:39:55.599025Z", ("Received", "Nov 23, 2026, 14:39")),
        ("first_payment_on", "2026-12-01", ("First payment on", "Dec 1, 2026")),
        ("loan_amount_min_cents", 100_000, ("Loan amount minimum", "1,000.00")),
        ("apr_min_percent", 6.9, ("APR minimum", "6.9%")),
        ("term_months", 24, ("Term in months", "24")),
        ("language", "es-US", ("Language", "Spanish")),
        ("country", "US", ("Country", "United States")),
        ("product_type", "personal_loan", ("Product type", "personal loan")),
        ("is_denial", False, ("Is denial", "no")),
        ("reasons", [], ("Reasons", "—")),
        ("rights", ["You can ask.", "You can object."], ("Rights", "You can ask. You can object.")),
        ("payment_method_id", "pm_sandbox_ok", ("Payment method ID", "pm_sandbox_ok")),
        ("reference", "<b>1</b>", ("Reference", "<b>1</b>")),
    ]:  # fmt: skip
        title, shown = cells
        assert text({name: value}) == f'<table class="terms"><tr><th>{title}</th><td>{shown}</td></tr></table>'


def test_nested_values_are_shown_as_escaped_tables_with_the_currency_of_their_object():
    shown = text({"persons": [{"name": "Dana"}, {"name": "Li"}], "creditor": {"name": "Cedar"}})
    assert shown.count("<table") == 4
    assert "{" not in shown
    assert "<b>" not in str(details({"<b>": "<b>", "list": ["<b>"], "object": {"x": "<b>"}}))
    assert "10.50\xa0EUR" in text({"currency": "EUR", "fee_cents": 1_050})
    assert "1,050\xa0JPY" in text({"currency": "JPY", "fee_cents": 1_050})
    for name, title in [
        ("", ""), ("term_months", "Term in months"), ("delinquencies_24_months", "Delinquencies in 24 months"),
    ]:  # fmt: skip
        assert title_of(name) == title


def test_back_office_time_shows_its_exact_value_in_a_tooltip():
    shown = moment(datetime(2026, 11, 29, 22, 34, 5, tzinfo=UTC))
    assert ">Nov 29, 2026, 22:34</time>" in shown
    assert 'title="2026-11-29T22:34:05+00:00"' in shown
