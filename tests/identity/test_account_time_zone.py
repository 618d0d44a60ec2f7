"""Test that the dates of the account pages are in the time zone of the dates on `/my`."""

import re
from datetime import UTC, datetime

import pytest
from allauth.usersessions.models import UserSession
from django.utils import timezone

from identity.access.consents import ELECTRONIC_NOTICES, give_consent
from identity.models import TokenFamily
from tests.credit.terms.lending import applied, listed
from tests.credit.test_my_content import living_in, written
from tests.identity.oauth_support import code_for, exchange, make_client
from tests.identity.test_account_language import browser

__all__ = ["browser"]
pytestmark = pytest.mark.django_db
AT = datetime(2028, 2, 1, 3, tzinfo=UTC)  # the previous day in Oregon


@pytest.fixture
def in_oregon(user):
    return written(applied(listed(), consumer=user), living_in("OR"))


def read(browser, path):
    return " ".join(browser.get(path).content.decode().split())


@pytest.fixture
def authorized(user):
    """Authorize an app. This comes before the second factor, which the page of the app would require."""
    client, secret = make_client()
    exchange(code_for(user, client), client, secret)
    assert TokenFamily.objects.filter(user=user).exists()


@pytest.mark.usefixtures("in_oregon")
class TestInOregon:
    def test_sessions_have_the_time_and_the_zone_of_the_applicant(self, browser, user):
        UserSession.objects.filter(user=user).update(created_at=AT)
        page = read(browser, "/account/sessions")
        assert "Since: January 31, 2028, 19:00 PST." in page
        assert "UTC" not in page
        UserSession.objects.filter(user=user).update(created_at=datetime(2028, 7, 1, 3, tzinfo=UTC))
        assert "Since: June 30, 2028, 20:00 PDT." in read(browser, "/account/sessions")
        assert timezone.get_current_timezone_name() == "UTC", "the time zone ends with the request"

    def test_consents_have_the_day_of_the_applicant(self, browser, user):
        give_consent(user.pk, ELECTRONIC_NOTICES, 1, scope="x", now=AT)
        page = read(browser, "/account/privacy")
        assert "(January 31, 2028)" in page
        assert re.search(r"The dates are in the time zone P[SD]T\.", page)

    def test_pages_with_dates_name_the_zone_of_the_list_of_applications(self, authorized, browser):
        paths = ("/my", "/account/privacy", "/account/second-factor", "/oauth/grants")
        zones = [re.search(r"The dates are in the time zone [A-Z]+\.", read(browser, path))[0] for path in paths]
        assert len({*zones}) == 1, zones


def test_sessions_of_an_account_without_applications_are_in_utc(browser, user):
    UserSession.objects.filter(user=user).update(created_at=AT)
    assert "Since: February 1, 2028, 03:00 UTC." in read(browser, "/account/sessions")
