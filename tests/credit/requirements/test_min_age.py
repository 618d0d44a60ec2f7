"""Test rejected ages, the day of the age, and the messages of an offer's `min_age`."""

from datetime import UTC, date, datetime, timedelta

import pytest
from django.utils import timezone

from credit.core.due import OfferRequirements
from credit.models import Application, Provider
from tests.api import assert_error
from tests.credit.applicants import LEAST, PERSON
from tests.factories import OfferFactory, ProviderFactory

pytestmark = pytest.mark.django_db
OFFER = {"provider_id": "8001", "name": "Everyday loan", "product_type": "personal_loan"}


def born_before(years, days=0):
    """Return the birthday of a person in Riga, `years` years and `days` days ago."""
    today = datetime.now(UTC).date()
    return date(today.year - years, today.month, min(today.day, 28)) - timedelta(days)


def applying(user, offer, *births, status="submitted"):
    persons = [{**LEAST, "date_of_birth": born and str(born)} for born in births]
    return {
        "consumer_id": str(user.pk), "offer_id": offer.pk if offer else 7, "provider_id": 8001,
        "applicants": persons or None, "initial_status": status,
    }  # fmt: skip


def offer_for(min_age):
    return OfferFactory(
        provider=Provider.objects.filter(pk="8001").first() or ProviderFactory(id="8001"), min_age=min_age
    )


class TestOffer:
    def test_minimum_age_of_an_offer_is_stored_returned_and_replaced(self, api, user):
        offer = api.send("/provider-offers", {**OFFER, "min_age": 21}).json()
        assert offer["min_age"] == 21
        wanted = api.read(f"/provider-offers/{offer['id']}/requirements").json()
        assert wanted["applicants"]["items"]["required"] == ["legal_name", "date_of_birth", "address"]
        assert "/applicants/0/date_of_birth" in [requirement["pointer"] for requirement in wanted["currently_due"]]
        again = api.replace(f"/provider-offers/{offer['id']}", OFFER).json()
        assert again["min_age"] is None
        assert api.read(f"/provider-offers/{offer['id']}/requirements").json()["applicants"] is None

    def test_offer_with_an_invalid_minimum_age_is_rejected(self, api):
        for value in (0, -1, 121, "18", 18.0, True, [18], 2**31):
            refused = assert_error(api.send("/provider-offers", {**OFFER, "min_age": value}), 400, "E1001")
            assert [detail["field"] for detail in refused["details"]] == ["min_age"]


class TestApplying:
    def test_applicant_below_the_minimum_age_is_rejected_with_the_eligibility_day(self, api, user):
        for min_age, years in ((None, 9), (None, 17), (18, 17), (21, 20), (65, 64), (120, 40)):
            born, needed = born_before(years), min_age or 18
            for births in ((born,), (born_before(120), born)):
                body = applying(user, offer_for(min_age), *births)
                refused = assert_error(api.send("/applications", body), 400, "E1020")
                day = born.replace(year=born.year + needed)
                message = f"Must be at least {needed} years old. The applicant reaches this age on {day}."
                field = f"/applicants/{len(births) - 1}/date_of_birth"
                assert refused["details"] == [{"field": field, "message": message}]
        assert Application.objects.count() == 0

    def test_applicant_of_sufficient_age_can_submit(self, api, user):
        for min_age, years in ((None, 19), (18, 19), (21, 22), (16, 17), (1, 2), (None, 100)):
            assert api.send("/applications", applying(user, offer_for(min_age), born_before(years))).status_code == 201

    def test_applicant_under_18_cannot_apply_to_an_unlisted_offer(self, api, user):
        assert_error(api.send("/applications", applying(user, None, born_before(9))), 400, "E1020")
        assert api.send("/applications", applying(user, None, born_before(19))).status_code == 201

    def test_date_of_birth_is_required_only_by_an_offer_with_a_minimum_age(self, api, user):
        assert api.send("/applications", applying(user, offer_for(None), None)).status_code == 201
        assert api.send("/applications", applying(user, offer_for(None))).status_code == 201
        offer = offer_for(18)
        refused = assert_error(api.send("/applications", applying(user, offer, None)), 400, "E1020")
        assert refused["details"] == [{"field": "/applicants/0/date_of_birth", "message": "Is required."}]
        assert_error(api.send("/applications", applying(user, offer)), 400, "E1020")

    def test_draft_of_an_applicant_below_the_minimum_age_is_stored_with_an_unmet_age_requirement(self, api, user):
        born = born_before(17)
        application = api.send("/applications", applying(user, offer_for(None), born, status="draft")).json()
        (due,) = api.read(f"/applications/{application['id']}/requirements").json()["currently_due"]
        assert due == {
            "pointer": "/applicants/0/date_of_birth", "title": "Date of birth", "type": "string",
            "why": "Must be at least 18 years old. The applicant "
            f"reaches this age on {born.replace(year=born.year + 18)}.",
        }  # fmt: skip
        moves = api.read(f"/applications/{application['id']}/transitions").json()["transitions"]
        assert [move["code"] for move in moves if move["to"] == "submitted"] == ["E1020"]
        body = {"status": "submitted", "updated_by": "me"}
        assert_error(api.replace(f"/applications/{application['id']}/status", body), 400, "E1020")
        adult = {"applicants": [PERSON], "updated_by": "me"}
        assert api.replace(f"/applications/{application['id']}", adult).status_code == 200
        assert api.replace(f"/applications/{application['id']}/status", body).status_code == 200


def test_draft_page_states_the_required_age_and_the_eligibility_date(api, client, user):
    application = api.send("/applications", applying(user, offer_for(None), born_before(17), status="draft")).json()
    client.force_login(user)
    page = client.get(f"/my/applications/{application['id']}", headers={"accept-language": "es"}).content.decode()
    assert "Cada solicitante debe tener al menos 18 años. Puede presentar la solicitud a partir del" in page


# Each row has a moment (UTC), a country, a region, a birthday, and whether the person is 18 on the local day.
@pytest.mark.parametrize(("moment", "country", "region", "born", "is_adult"), [
    ("2026-03-01T14:59", "JP", "Tokyo", "2008-03-02", False), ("2026-03-01T15:00", "JP", "Tokyo", "2008-03-02", True),
    ("2026-03-02T07:59", "US", "CA", "2008-03-02", False), ("2026-03-02T08:00", "US", "CA", "2008-03-02", True),
    ("2026-03-02T09:59", "US", "HI", "2008-03-02", False), ("2026-03-02T10:00", "US", "HI", "2008-03-02", True),
    ("2026-03-01T18:29", "IN", None, "2008-03-02", False), ("2026-03-01T18:30", "IN", None, "2008-03-02", True),
    ("2026-06-30T21:59", "DE", None, "2008-07-01", False), ("2026-06-30T22:00", "DE", None, "2008-07-01", True),
    ("2026-02-28T12:00", "GB", None, "2008-02-29", False), ("2026-03-01T00:00", "GB", None, "2008-02-29", True),
    ("2026-12-31T23:59", "GB", None, "2009-01-01", False), ("2027-01-01T00:00", "GB", None, "2009-01-01", True),
    ("2026-03-01T23:59", "AQ", None, "2008-03-02", False), ("2026-03-02T00:00", "AQ", None, "2008-03-02", True),
])  # fmt: skip
def test_applicant_age_is_computed_with_the_date_at_the_place_of_residence(
    monkeypatch, moment, country, region, born, is_adult
):
    monkeypatch.setattr(timezone, "now", lambda: datetime.fromisoformat(moment).replace(tzinfo=UTC))
    person = {**LEAST, "date_of_birth": born, "address": {**LEAST["address"], "country": country, "region": region}}
    assert (OfferRequirements().due(data=None, persons=[person], uploaded=()) == []) is is_adult
