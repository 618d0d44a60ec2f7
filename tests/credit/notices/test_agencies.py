"""Test the lender's federal agency and the consumer reporting agencies in a notice."""

import pytest

from credit.core.agencies import AGENCIES
from credit.models import Application
from credit.notices.content import gather
from tests.api import assert_error, client_of
from tests.credit.notices.world import World

pytestmark = pytest.mark.django_db

FTC = "Federal Trade Commission, Consumer Response Center, 600 Pennsylvania Avenue NW, Washington, DC 20580"
NCUA = "1775 Duke Street, Alexandria, VA 22314"


@pytest.fixture
def world():
    world = World()
    world.submit(0)
    return world


def lender_of(world, **columns):
    provider = world.offer.provider
    for name, value in columns.items():
        setattr(provider, name, value)
    provider.save()
    return client_of(provider.owner)


def test_notice_of_a_federal_credit_union_contains_the_ncua(world):
    lender_of(world, agency="ncua")
    world.reject(5)
    world.issue(6)
    assert world.notice.made_from["agency"] == AGENCIES["ncua"]
    assert NCUA in world.notice.html
    assert "Federal Trade Commission" not in world.notice.html


@pytest.mark.parametrize(
    ("default", "text"),
    [("ftc", FTC), ("cfpb", AGENCIES["cfpb"]), ("Agency of Guam, Hagåtña", "Agency of Guam, Hagåtña")],
)
def test_lender_without_an_agency_has_the_default_of_the_installation(world, settings, default, text):
    settings.NOTICE_AGENCY = default
    world.reject(5)
    assert gather(world.notice)["agency"] == text


def test_default_agency_has_its_current_address_in_appendix_a(settings):
    assert AGENCIES[settings.NOTICE_AGENCY] == FTC


def test_lender_update_without_an_agency_restores_the_default_agency(world):
    lender = lender_of(world)
    path = f"/providers/{world.offer.provider_id}"
    named = {"name": "Cedar Bank", "address": "1 Bank Street"}
    assert lender.replace(path, {**named, "agency": "occ"}).json()["agency"] == "occ"
    assert lender.replace(path, named).json()["agency"] is None


@pytest.mark.parametrize("agency", ["FTC", "irs", 7, "", " "])
def test_lender_with_an_agency_outside_appendix_a_is_rejected(world, agency):
    lender = lender_of(world)
    body = {"name": "Cedar Bank", "address": "1 Bank Street", "agency": agency}
    error = assert_error(lender.replace(f"/providers/{world.offer.provider_id}", body), 400, "E1001")
    assert "agency" in str(error["details"])


REPORT = {"agency": "Example Bureau", "address": "1 File Street, Chester, PA 19016", "phone": "800-555-0100"}
SCORE = {"score": 590, "range": [300, 850], "date": "2028-01-30", "factors": ["Length of time accounts are open"]}
OTHER = {"agency": "Second Bureau", "address": "2 File Street, Atlanta, GA 30374", "phone": "800-555-0101"}


def test_notice_lists_the_agency_and_score_of_each_report(world):
    """Test the rule in 15 USC 1681m(a)(2) and (3)."""
    world.reject(5, consumer_report=[{**REPORT, **SCORE}, {**OTHER, **SCORE, "score": 612}])
    world.issue(6)
    html = world.notice.html
    for report in (REPORT, OTHER):
        assert all(f"{value}" in html for value in report.values())
    assert html.count("The reporting agency played no part in our decision") == 2
    assert all(f"<td>{score}</td>" in html for score in (590, 612))


def test_counteroffer_accepts_several_reports(world):
    world.counter(5, with_denial=True, consumer_report=[REPORT, OTHER])
    world.issue(6)
    assert all(name in world.notice.html for name in ("Example Bureau", "Second Bureau"))


@pytest.mark.parametrize(
    ("reports", "where"),
    [
        ([], "metadata.consumer_report"), ([REPORT] * 2, "metadata.consumer_report"),
        ([REPORT, {**REPORT, "agency": "EXAMPLE BUREAU"}], "metadata.consumer_report"),
        ([{**REPORT, "agency": str(number)} for number in range(6)], "metadata.consumer_report"),
        ([REPORT, 7], "metadata.consumer_report[1]"),
        ([REPORT, {**OTHER, "phone": ""}], "metadata.consumer_report[1].phone"),
        ([REPORT, [OTHER]], "metadata.consumer_report[1]"), ("Example Bureau", "metadata.consumer_report"),
    ],
)  # fmt: skip
def test_error_for_an_invalid_consumer_report_contains_its_index(world, reports, where):
    body = {
        "status": "rejected",
        "updated_by": "x",
        "metadata": {"reasons": ["bankruptcy"], "consumer_report": reports},
    }
    error = assert_error(client_of(world.lender.user).replace(f"/applications/{world.pk}/status", body), 400, "E1001")
    assert error["details"][0]["field"] == where


def test_spaces_in_agency_names_are_normalized(world):
    twice = [{**REPORT, "agency": "Example  Bureau"}, {**REPORT, "agency": "Example\u00a0Bureau"}]
    metadata = {"reasons": ["bankruptcy"], "consumer_report": twice}
    body = {"status": "rejected", "updated_by": "x", "metadata": metadata}
    assert_error(client_of(world.lender.user).replace(f"/applications/{world.pk}/status", body), 400, "E1001")
    world.reject(5, consumer_report=twice[1])
    world.issue(6)
    assert "<bdi>Example Bureau</bdi><br>" in world.notice.html


@pytest.mark.parametrize(("share", "is_there"), [(["bank"], True), (["identity"], False), ([], False)])
def test_denial_with_shared_bank_data_states_the_right_to_disclosure(world, share, is_there):
    """Test the rule in 15 USC 1681m(b)(1)."""
    Application.objects.filter(pk=world.pk).update(share=share)
    world.reject(5)
    world.issue(6)
    assert ("source" in world.notice.made_from["blocks"]) is is_there
    assert ("for disclosure of the nature of this information" in world.notice.html) is is_there
