"""Test that an offer's requirements are validated, shown, and checked before an application is submitted."""

import json
import random
import unicodedata

import pytest
from django.utils import timezone
from jsonschema import Draft202012Validator, FormatChecker

from config.core.errors import ValidationFailed
from credit.core import profile
from credit.core.applicant_schema import REQUIRABLE
from credit.core.due import OfferRequirements
from credit.models import Application, Offer, RequestedDocument
from tests.api import assert_error, client_of
from tests.credit.applicants import BAD as BAD_PERSONS
from tests.credit.applicants import GOOD, LEAST, PERSON, changed
from tests.credit.requirements.filer import file_application, send_file
from tests.credit.requirements.schemas import BAD, TERMS, WHOLE, random_schema, with_member
from tests.factories import OfferFactory, ProviderFactory, UserFactory
from tests.properties import examples


def seeds(count):
    """Return random generators: all of them in `make test-all`, a quarter otherwise."""
    return (random.Random(seed) for seed in range(examples(count).max_examples))


pytestmark = pytest.mark.django_db
PATH = "/applications"
OFFER = {"provider_id": "8001", "name": "Everyday loan", "product_type": "personal_loan"}
ASKS = {
    "application_schema": TERMS,
    "required_documents": ["Payslip", "A/B ~ test"],
    "applicant_requires": ["email", "address.region"],
}


@pytest.fixture
def offer(db):
    return OfferFactory(provider=ProviderFactory(id="8001"), **ASKS)


@pytest.fixture
def body(user, offer):
    return {"consumer_id": str(user.pk), "offer_id": offer.pk, "provider_id": 8001}


def submit(api, made):
    return api.replace(f"{PATH}/{made['id']}/status", {"status": "submitted", "updated_by": "me"})


def requirements(api, made):
    return api.read(f"{PATH}/{made['id']}/requirements").json()


def pointers(answer):
    return [detail["field"] for detail in answer["details"]]


class TestSchemaOfAnOffer:
    """POST and PUT of an offer."""

    def test_application_schema_of_an_offer_is_stored_returned_and_replaced(self, api):
        created = api.send("/provider-offers", {**OFFER, **ASKS}).json()
        assert {name: created[name] for name in ASKS} == ASKS
        again = api.replace(f"/provider-offers/{created['id']}", OFFER).json()
        assert [again[name] for name in ASKS] == [None] * 3
        assert api.read(f"/provider-offers/{created['id']}").json() == again

    def test_application_schema_outside_the_supported_json_schema_subset_is_rejected_with_a_pointer(self, api):
        for pointer, schema in BAD:
            with pytest.raises(ValidationFailed) as refused:
                profile.check(schema)
            assert f"/application_schema{pointer}" in [detail["field"] for detail in refused.value.details], schema
        for pointer, schema in BAD[::10]:
            answer = assert_error(api.send("/provider-offers", {**OFFER, "application_schema": schema}), 400, "E1001")
            assert f"/application_schema{pointer}" in pointers(answer)
        assert Offer.objects.count() == 0

    def test_offer_with_invalid_required_documents_or_applicant_fields_is_rejected(self, api):
        for name, at, value in (
            ("required_documents", "/1", ["Payslip", "Payslip"]),
            ("required_documents", "/1", ["Caf\u00e9", "Cafe\u0301"]),
            ("required_documents", "/1", ["Payslip", "P\u0430yslip "]), ("required_documents", "", [" "]),
            ("required_documents", "", [f"d{n}" for n in range(21)]), ("required_documents", "", "Payslip"),
            ("required_documents", "", [1]), ("required_documents", "", ["x" * 256]),
            ("required_documents", "", ["a\nb"]), ("applicant_requires", "", ["shoe_size"]),
            ("applicant_requires", "", [["email"]]), ("applicant_requires", "/1", ["email", "email"]),
            ("applicant_requires", "", {"email": True}),
        ):  # fmt: skip
            answer = assert_error(api.send("/provider-offers", {**OFFER, name: value}), 400, "E1001")
            assert answer["details"][0]["field"].removesuffix(".0") == f"{name}{at}", value

    def test_deep_and_large_application_schemas_are_checked_in_linear_time(self):
        deep = {"type": "string"}
        for _ in range(150):
            deep = {"type": "object", "properties": {"a": deep}}
        for size in (2_000, 64_000):
            for schema in (
                {"type": "object", "properties": {f"m{n}": {"type": "string"} for n in range(size)}},
                {**with_member({"type": "string"}), "required": ["a"] * size},
                with_member({"type": "string", "enum": [f"v{n}" for n in range(size)]}),
                {**with_member({"type": "string"}), **{f"k{n}": 1 for n in range(size)}},
                with_member({"type": "string", **{f"k{n}": 1 for n in range(size)}}),
                deep,
            ):
                with pytest.raises(ValidationFailed) as refused:
                    profile.check(schema)
                assert len(refused.value.details) <= 20

    def test_accepted_application_schemas_are_valid_for_an_external_library(self):
        for draw in seeds(400):
            schema = random_schema(draw, most=12)
            profile.check(schema)
            Draft202012Validator.check_schema(schema)


class TestRequirementsAtSubmission:
    """GET of the requirements, and submission."""

    def test_offer_requirements_can_be_read_without_an_application(self, api, offer):
        requested = api.read(f"/provider-offers/{offer.pk}/requirements").json()
        assert requested["application_schema"] == TERMS
        assert requested["documents"] == [
            {"name": name, "document_id": None, "status": None} for name in ASKS["required_documents"]
        ]
        assert [requirement["pointer"] for requirement in requested["currently_due"]] == [
            "/application_data/amount_cents", "/application_data/purpose", "/application_data/monthly_income_cents",
            "/applicants/0/legal_name", "/applicants/0/address/line1", "/applicants/0/address/city",
            "/applicants/0/address/postal_code", "/applicants/0/address/country", "/applicants/0/email",
            "/applicants/0/address/region", "/documents/Payslip", "/documents/A~1B ~0 test",
        ]  # fmt: skip
        assert requested["currently_due"][0] == {
            "pointer": "/application_data/amount_cents", "title": "Amount", "type": "integer", "why": "Is required.",
        }  # fmt: skip

    def test_offer_without_requirements_accepts_any_data(self, api, user):
        free = OfferFactory()
        empty = {"currently_due": [], "application_schema": None, "documents": [], "applicants": None}
        assert api.read(f"/provider-offers/{free.pk}/requirements").json() == empty
        body = {"consumer_id": str(user.pk), "offer_id": free.pk, "provider_id": int(free.provider_id)}
        created = api.send(PATH, {**body, "application_data": ["anything"], "initial_status": "submitted"}).json()
        assert created["status"] == "submitted"
        assert requirements(api, created) == empty

    def test_incomplete_application_is_rejected_and_can_be_completed(self, api, body):
        created = api.send(PATH, {**body, "application_data": {**WHOLE, "purpose": "yacht"}}).json()
        answer = assert_error(submit(api, created), 400, "E1020")
        due = requirements(api, created)
        assert pointers(answer) == [requirement["pointer"] for requirement in due["currently_due"]]
        assert pointers(answer)[0] == "/application_data/purpose"
        assert "yacht" not in json.dumps([answer, due["currently_due"]])
        changes = {"updated_by": "me", "application_data": WHOLE, "applicants": [PERSON, changed("email", None)]}
        api.replace(f"{PATH}/{created['id']}", changes)
        for document in due["documents"]:
            assert document["status"] == "requested"
            send_file(api, f"{PATH}/{created['id']}/documents/{document['document_id']}/files")
        assert pointers(assert_error(submit(api, created), 400, "E1020")) == ["/applicants/1/email"]
        api.replace(f"{PATH}/{created['id']}", {**changes, "applicants": [PERSON]})
        assert requirements(api, created)["currently_due"] == []
        assert submit(api, created).json()["status"] == "submitted"

    def test_application_cannot_be_created_as_submitted_with_missing_data(self, api, body):
        answer = api.send(PATH, {**body, "application_data": WHOLE, "initial_status": "submitted"}, key=True)
        assert "/documents/Payslip" in pointers(assert_error(answer, 400, "E1020"))
        assert Application.objects.count() == RequestedDocument.objects.count() == 0

    def test_draft_for_an_inactive_offer_cannot_be_submitted(self, api, body):
        created = api.send(PATH, {**body, "applicants": None}).json()
        Offer.objects.update(is_active=False)
        assert [due["pointer"] for due in requirements(api, created)["currently_due"]][:1] == ["/offer_id"]
        moves = api.read(f"{PATH}/{created['id']}/transitions").json()["transitions"]
        verdicts = {move["to"]: (move["allowed"], move["code"]) for move in moves}
        assert (verdicts["submitted"], verdicts["withdrawn"]) == ((False, "E1020"), (True, None))
        assert pointers(assert_error(submit(api, created), 400, "E1020")) == ["/offer_id"]
        assert_error(api.send(PATH, {**body, "status": "submitted"}), 400, "E1011")
        Offer.objects.update(is_active=True)
        assert "/offer_id" not in [due["pointer"] for due in requirements(api, created)["currently_due"]]

    def test_draft_uses_current_requirements_and_submitted_application_its_stored_requirements(self, api, body, offer):
        Offer.objects.update(required_documents=None, applicant_requires=None)
        created = api.send(PATH, {**body, "application_data": WHOLE}).json()
        Offer.objects.update(required_documents=["Payslip"])
        assert requirements(api, created)["documents"][0]["status"] == "requested"
        Offer.objects.update(required_documents=None)
        assert submit(api, created).status_code == 200
        Offer.objects.update(required_documents=["Another"], application_schema=with_member({"type": "string"}))
        assert requirements(api, created) == {
            "currently_due": [], "application_schema": TERMS, "documents": [], "applicants": None,
        }  # fmt: skip

    def test_application_submitted_to_an_offer_without_a_schema_has_no_requirements(self, api, user):
        old = Application.objects.create(
            consumer=user, offer_id=1, provider_id=2, status="submitted", initial_status="draft",
            offer_snapshot={"name": "x"}, created_at=timezone.now(), updated_at=timezone.now(),
        )  # fmt: skip
        assert api.read(f"{PATH}/{old.pk}/requirements").json()["currently_due"] == []

    def test_only_the_parties_of_an_application_can_read_its_requirements(
        self, api, stranger_api, body, offer, settings
    ):
        created = api.send(PATH, {**body, "application_data": WHOLE}).json()
        here = f"{PATH}/{created['id']}/requirements"
        lender, other = client_of(offer.owner), client_of(ProviderFactory().owner)
        for who in (stranger_api, other, lender):
            assert_error(who.read(here), 404, "E4002")
        Application.objects.update(status="submitted", offer_snapshot={**offer.terms()})
        assert lender.read(here).status_code == 200
        for who in (stranger_api, other):
            assert_error(who.read(here), 404, "E4002")

    def test_reading_requirements_as_the_lender_does_not_request_documents(self, api, body, offer):
        created = api.send(PATH, body).json()
        RequestedDocument.objects.all().delete()
        Application.objects.update(status="under_review", offer_snapshot={**offer.terms()})
        client_of(offer.owner).read(f"{PATH}/{created['id']}/requirements")
        assert RequestedDocument.objects.count() == 0


def test_schema_validation_of_values_matches_an_external_library():
    values = [
        None, True, False, 0, 1, -1, 1.0, 2.5, 10**19, "", "a", "red", "x" * 45, "2026-01-31", "2026-02-30", "20260131",
        "ü", [], {}, ["a"],
    ]  # fmt: skip
    for draw in seeds(100):
        schema = random_schema(draw, most=6)
        for member in schema["properties"].values():
            judge = Draft202012Validator(member, format_checker=FormatChecker())
            for value in [*values, *member.get("enum", []), *(member.get(item) for item in ("minimum", "maximum"))]:
                assert (profile.fault(member, value) is None) == judge.is_valid(value), (member, value)


def test_applicants_schema_accepts_the_same_values_as_the_api(api, user, offer):
    applicants = api.read(f"/provider-offers/{offer.pk}/requirements").json()["applicants"]
    Draft202012Validator.check_schema(applicants)
    judge = Draft202012Validator(applicants, format_checker=FormatChecker())
    assert judge.is_valid([PERSON | {"address": {**PERSON["address"], "line2": "x"}}])
    assert not judge.is_valid([LEAST])
    whole = {**PERSON, "address": {**PERSON["address"], "line2": "x"}}
    for path, values in GOOD.items():
        for value in values:
            assert judge.is_valid([changed(path, value, whole)]), (path, value)
    # A schema cannot state blank texts, unprintable characters or past days.
    said = {"phone", "language", "address.country", "address"}
    for path, values in BAD_PERSONS.items():
        if path in said:
            # Python's `$` matches before "\n".
            for value in (item for item in values if not str(item).endswith("\n")):
                assert not judge.is_valid([changed(path, value, whole)]), (path, value)


def test_region_and_postal_code_are_required_only_in_countries_that_use_these_fields(api, offer):
    judge = Draft202012Validator(api.read(f"/provider-offers/{offer.pk}/requirements").json()["applicants"])
    for country, needs in {
        "HK": set(), "JM": set(), "PA": set(), "NL": {"postal_code"}, "FR": {"postal_code"},
        "US": {"region", "postal_code"}, "CA": {"region", "postal_code"}, "MY": {"region"},
    }.items():  # fmt: skip
        address = {"line1": "1 Road", "line2": None, "city": "Town", "country": country}
        person = {**PERSON, "address": {**address, "region": None, "postal_code": None}}
        due = OfferRequirements.by(offer.terms()).due(data=WHOLE, persons=[person], uploaded=ASKS["required_documents"])
        assert {requirement.pointer for requirement in due} == {f"/applicants/0/address/{name}" for name in needs}
        assert judge.is_valid([{**person, "address": {**address, "line2": "x"}}]) == (needs == set())
        assert judge.is_valid([{**person, "address": {**address, "line2": "x", **dict.fromkeys(needs, "X1")}}])


def test_client_that_meets_the_listed_requirements_submits_in_one_attempt(api, user, settings):
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS)
    provider = ProviderFactory(id="8002", owner=UserFactory())
    for draw in seeds(50):
        offer = OfferFactory(
            provider=provider,
            application_schema=random_schema(draw) if draw.random() < 0.8 else None,
            required_documents=draw.sample(["Payslip", "Bank/statement", "ID ~ copy"], draw.randint(0, 2)) or None,
            applicant_requires=draw.sample(REQUIRABLE, draw.randint(0, 4)) or None,
        )
        answer = file_application(api, offer.pk, user.pk)
        assert (answer.status_code, answer.json().get("status")) == (200, "submitted"), answer.content


@pytest.mark.parametrize("word", ["Café", "Ångström", "Việt Nam", "Zażółć", "가나다", "Škoda"])
def test_schema_choice_matches_a_value_in_another_unicode_normal_form(word):
    listed, said = (unicodedata.normalize(form, word) for form in ("NFC", "NFD"))
    for choice, value in ((listed, said), (said, listed)):
        assert profile.fault({"type": "string", "enum": [choice]}, value) is None
        assert profile.fault({"type": "string", "enum": [choice]}, f"{value}x") is not None
