"""Test the estimate, the prefilled applicant, and the missing figures of the application form."""

import pytest
from allauth.account.models import EmailAddress
from django.utils import timezone

from credit.core.figures import money
from credit.core.quotes import make_quote
from credit.models import Application
from tests.credit.terms.lending import listed
from tests.credit.test_my_apply import ADA, SCHEMA, TYPED, draft_of, errors_in, send
from tests.credit.test_my_pages import browser_of, page_of, press_button
from tests.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reviewed")]


class TestEstimate:
    def test_estimate_button_shows_the_installments_and_stores_nothing(self, user):
        full_offer = listed(application_schema=SCHEMA)
        answer, page = send(f"/my/apply/{full_offer.pk}", user, "estimate", **TYPED)
        assert answer.status_code == 200
        assert "At 6.90% a year" in page
        quote = make_quote(
            full_offer, amount_cents=800_050, term_months=24, apr_percent=None, fee_cents=0, first_payment_on=None,
            method=None, today=timezone.now().date(),
        )  # fmt: skip
        assert f"{money(quote['payment_cents'])} a month, {money(quote['total_of_payments_cents'])} in all" in page
        assert 'value="Ada Example"' in page
        assert not Application.objects.exists()

    def test_estimate_button_requires_only_the_amount_and_the_term(self, user):
        path = f"/my/apply/{listed(application_schema=SCHEMA).pk}"
        answer, page = send(path, user, "estimate")
        assert answer.status_code == 400
        assert errors_in(page).keys() == {"data-amount_cents", "data-term_months"}
        answer, page = send(path, user, "estimate", **{"data-amount_cents": "50"})
        assert "Estimated installments" not in page

    def test_line_of_credit_has_no_estimate(self, user):
        page = browser_of(user).get(f"/my/apply/{listed(term_options_months=None).pk}").content.decode()
        assert "Compute the installments" not in page


def test_new_application_form_is_prefilled_with_the_account_email_or_the_latest_applicant(user):
    path = f"/my/apply/{listed(application_schema=SCHEMA).pk}"
    address = EmailAddress.objects.create(user=user, email="confirmed@example.test", primary=True)
    assert 'value="confirmed@example.test"' not in browser_of(user).get(path).content.decode()
    address.verified = True
    address.save()
    page = browser_of(user).get(path).content.decode()
    assert 'value="confirmed@example.test"' in page
    assert "from your latest application" not in page
    send(path, user, "save", **TYPED)
    page = browser_of(user).get(path).content.decode()
    assert "from your latest application" in page
    assert 'value="Ada Example"' in page
    assert 'value="confirmed@example.test"' in page
    assert "8000.50" not in page
    assert 'value="Ada Example"' not in browser_of(UserFactory()).get(path).content.decode()
    draft = browser_of(user).get(f"/my/applications/{draft_of(user).pk}/edit").content.decode()
    assert "Estimated installments" in draft


def test_draft_without_amount_and_term_lists_the_missing_figures_and_cannot_be_submitted(user):
    offer = listed()
    send(f"/my/apply/{offer.pk}", user, "save", **ADA)
    draft = draft_of(user)
    page = page_of(draft)
    assert "“Amount” is missing." in page
    assert "“Number of months” is missing." in page
    assert "Send to the lender" not in page
    assert "“Amount” is missing." in press_button(draft, "send")
    draft.refresh_from_db()
    assert draft.status == "draft"
