"""Test the lender's federal agency and the consumer reporting agencies in a notice."""

import pytest

from credit.core.agencies import AGENCIES, check_notice_agency
from credit.models import Application
from credit.notices.content import gather
from tests.api import assert_error, client_of
from tests.credit.notices.world import World
from tests.credit.support import move

pytestmark = pytest.mark.django_db

FTC = "Federal Trade Commission, Consumer Response Center, 600 Pennsylvania Avenue NW, Washington, DC 20580"


def test_notice_of_a_lender_without_an_agency_contains_the_default_agency(world, settings):
    assert AGENCIES[settings.NOTICE_AGENCY] == FTC
    world.reject(5)
    named = "Agency of Guam, Hagåtña"
    for settings.NOTICE_AGENCY, text in (("ftc", FTC), ("cfpb", AGENCIES["cfpb"]), (named, named)):
        assert gather(world.notice)["agency"] == text


@pytest.mark.parametrize("named", ["ftcc", "FTC", "", "cfpb\u200b"])
def test_misspelled_default_agency_code_fails_the_start_check(settings, named):
    settings.NOTICE_AGENCY = named
    (error,) = check_notice_agency()
    assert error.is_serious()
    assert "cfpb, occ, frb" in error.msg
    for settings.NOTICE_AGENCY in ("occ", "Agency of Guam, Hagåtña"):
        assert not check_notice_agency()[0].is_serious()


def test_lender_update_accepts_only_an_agency_of_appendix_a_or_no_agency(world):
    lender, path = client_of(world.lender.user), f"/providers/{world.offer.provider_id}"
    named = {"name": "Cedar Bank", "address": "1 Bank Street"}
    for agency in ("FTC", "irs", 7, "", " "):
        error = assert_error(lender.replace(path, {**named, "agency": agency}), 400, "E1001")
        assert "agency" in str(error["details"])
    assert lender.replace(path, {**named, "agency": "occ"}).json()["agency"] == "occ"
    assert lender.replace(path, named).json()["agency"] is None


REPORT = {"agency": "Example Bureau", "address": "1 File Street, Chester, PA 19016", "phone": "800-555-0100"}
SCORE = {"score": 590, "range": [300, 850], "date": "2028-01-30", "factors": ["Length of time accounts are open"]}
OTHER = {"agency": "Second Bureau", "address": "2 File Street, Atlanta, GA 30374", "phone": "800-555-0101"}


def test_counteroffer_notice_contains_every_consumer_report(world):
    world.counter(5, with_denial=True, consumer_report=[REPORT, OTHER])
    world.issue(6)
    assert all(name in world.notice.html for name in ("Example Bureau", "Second Bureau"))


def refused(world, reports):
    """Return the error of a rejection with these reports."""
    metadata = {"reasons": ["bankruptcy"], "consumer_report": reports}
    return assert_error(move(client_of(world.lender.user), world, "rejected", metadata=metadata), 400, "E1001")


def test_error_for_an_invalid_consumer_report_contains_its_index(world):
    for reports, where in (
        ([], ""), ([REPORT] * 2, ""), ([REPORT, {**REPORT, "agency": "EXAMPLE BUREAU"}], ""), ("Example Bureau", ""),
        ([{**REPORT, "agency": str(number)} for number in range(6)], ""), ([REPORT, 7], "[1]"),
        ([REPORT, {**OTHER, "phone": ""}], "[1].phone"), ([REPORT, [OTHER]], "[1]"),
    ):  # fmt: skip
        assert refused(world, reports)["details"][0]["field"] == f"metadata.consumer_report{where}"


def test_spaces_in_agency_names_are_normalized(world):
    twice = [{**REPORT, "agency": "Example  Bureau"}, {**REPORT, "agency": "Example\u00a0Bureau"}]
    assert refused(world, twice)
    world.reject(5, consumer_report=twice[1])
    world.issue(6)
    assert "<bdi>Example Bureau</bdi><br>" in world.notice.html


def test_denial_notice_states_the_right_to_disclosure_if_bank_data_was_shared(world):
    """Test the rule in 15 USC 1681m(b)(1)."""
    for share, is_there in ((["bank"], True), (["identity"], False), ([], False)):
        denied = World(world.offer)
        Application.objects.filter(pk=denied.pk).update(share=share)
        denied.submit(0)
        denied.reject(5)
        denied.issue(6)
        assert ("source" in denied.notice.made_from["blocks"]) is is_there
        assert ("for disclosure of the nature of this information" in denied.notice.html) is is_there
