"""Test that each joint applicant reads only their own consumer report (15 USC 1681m(a), 12 CFR 1002.9(f))."""

import re

import pytest

from config.webhooks.models import Event
from credit.core.applicants import Applicants
from credit.models import Clock, Notice
from credit.notices import services
from tests.api import assert_error, client_of
from tests.credit.notices.test_agencies import OTHER, REPORT, SCORE, refused
from tests.credit.notices.world import WHOLE, World

pytestmark = pytest.mark.django_db

FIRST_REPORT = {**REPORT, **SCORE}
SECOND_SCORE = {"score": 701, "range": [350, 900], "date": "2028-01-29", "factors": ["Balances are too high"]}
SECOND_REPORT = {**OTHER, **SECOND_SCORE, "applicant": 2}
PARTNER = {
    **WHOLE, "legal_name": "Ivo Marchetti", "email": "ivo@example.test", "language": "es",
    "address": {**WHOLE["address"], "line1": "9 Harbor Lane"},
}  # fmt: skip
BLOCKS = ["action", "report", "score", "creditor"]


def joint(offer=None):
    """Return a submitted application of two applicants."""
    created = World(offer)
    application = created.application
    application.applicants = Applicants.of([WHOLE, PARTNER])
    application.save(update_fields=["applicants"])
    created.submit(0)
    return created


@pytest.fixture
def world(db):
    return joint()


def notices_of(world):
    """Return the notices of the newest decision: the one about the application, and the second applicant's."""
    rows = Notice.objects.filter(application=world.pk).exclude(status="cancelled")
    return rows.get(applicant=None), rows.get(applicant=2)


def deny(world, day=5):
    world.reject(day, ["bankruptcy"], consumer_report=[FIRST_REPORT, SECOND_REPORT])
    world.issue(day + 1)
    return notices_of(world)


def test_each_joint_applicant_gets_a_notice_with_only_their_own_report_and_language(world):
    first, second = deny(world)
    assert second.made_from["blocks"] == BLOCKS
    for notice, report, other in ((first, FIRST_REPORT, SECOND_REPORT), (second, SECOND_REPORT, FIRST_REPORT)):
        assert [item["agency"] for item in notice.made_from["reports"]] == [report["agency"]]
        for name in ("agency", "address", "phone", "score"):
            assert f"{report[name]}" in notice.html
            # The digits of a score can occur inside an id.
            assert not re.search(rf"\b{re.escape(str(other[name]))}\b", notice.html + notice.content)
        assert report["factors"][0] in notice.html
        assert other["factors"][0] not in notice.html + notice.content
    assert [person["name"] for person in first.made_from["persons"]] == ["Rosa Quillfeather"]
    assert [person["name"] for person in second.made_from["persons"]] == ["Ivo Marchetti"]
    assert "9 Harbor Lane" in second.html
    assert "Quillfeather" not in second.html + second.content
    assert (first.language, second.language) == ("en", "es")
    assert (first.made_from["reasons"], second.made_from["reasons"]) == (["Bankruptcy"], [])
    assert first.due_at == second.due_at


def test_second_applicant_gets_no_separate_notice_if_no_report_about_the_second_applicant_was_used(world):
    for reports in (None, [FIRST_REPORT], FIRST_REPORT, {**FIRST_REPORT, "applicant": 1}):
        denied = joint(world.offer)
        denied.reject(5, consumer_report=reports)
        denied.issue(6)
        (notice,) = Notice.objects.filter(application=denied.pk)
        assert notice.applicant is None
        addressed = [person["name"] for person in notice.made_from["persons"]]
        assert addressed == ["Rosa Quillfeather", *(() if reports else ["Ivo Marchetti"])]


def test_first_applicants_notice_omits_the_score_from_the_second_applicants_report(world):
    world.reject(5, consumer_report=SECOND_REPORT)
    world.issue(6)
    first, second = notices_of(world)
    assert "report" not in first.made_from["blocks"]
    assert second.made_from["blocks"] == BLOCKS
    assert [person["name"] for person in first.made_from["persons"]] == ["Rosa Quillfeather"]


def test_only_the_lender_can_read_the_second_applicants_notice(world, client):
    """The account that applies belongs to the first applicant."""
    world.consent(0)
    first, second = deny(world)
    assert (first.mail_id is None, second.mail_id is None) == (False, True)
    consumer, lender = client_of(world.consumer.user), client_of(world.lender.user)
    path = f"/applications/{world.pk}/notices"
    rows = lender.read(path).json()["notices"]
    assert [(row["id"], row["applicant"]) for row in rows] == [(str(second.pk), 2), (str(first.pk), None)]
    assert lender.read(f"{path}/{second.pk}").json()["content"]["blocks"] == BLOCKS
    assert [row["id"] for row in consumer.read(path).json()["notices"]] == [str(first.pk)]
    for accept in ("application/json", "text/html", "application/pdf"):
        assert_error(consumer.read(f"{path}/{second.pk}", accept=accept), 404, "E4001")
    client.force_login(world.consumer.user)
    page = f"/my/applications/{world.pk}"
    shown = client.get(page).content.decode()
    assert (str(first.pk) in shown, str(second.pk) in shown) == (True, False)
    assert client.get(f"{page}/notices/{second.pk}").status_code == 404
    second.refresh_from_db()
    assert second.status == "ready"
    events = Event.objects.filter(type="notice.ready")
    assert {(event.object["notice_id"], event.account_id) for event in events} == {
        (str(first.pk), world.consumer.user.pk), (str(first.pk), world.lender.user.pk),
        (str(second.pk), world.lender.user.pk),
    }  # fmt: skip


def test_notice_clock_runs_until_every_notice_of_the_decision_is_delivered(world):
    _, second = deny(world)
    world.consent(6)
    first = notices_of(world)[0]
    services.record_opening(first, actor=world.consumer, now=world.at(7))
    assert Clock.objects.get().stopped_at is None
    about = {"channel": "post", "at": world.at(9), "reference": "RE 1", "actor": world.lender, "now": world.at(9)}
    services.record_delivery(str(world.pk), str(second.pk), **about)
    clock = Clock.objects.get()
    assert (world.day_of(clock.stopped_at), clock.why) == (9, "told")


def test_reopening_cancels_the_notices_of_both_applicants(world):
    deny(world)
    world.reopen(8)
    assert set(Notice.objects.values_list("applicant", "status")) == {(None, "cancelled"), (2, "cancelled")}


@pytest.mark.parametrize(("with_denial", "applicants"), [(True, [None, 2]), (False, [None])])
def test_counteroffer_creates_a_notice_for_the_second_applicant_only_if_combined_with_a_denial(
    world, with_denial, applicants
):
    world.counter(5, with_denial=with_denial, consumer_report=[FIRST_REPORT, SECOND_REPORT])
    world.issue(6)
    rows = list(Notice.objects.exclude(kind="pricing").order_by("id"))
    assert [row.applicant for row in rows] == applicants
    if with_denial:
        assert [row.kind for row in rows] == ["counteroffer", "adverse_action"]
        assert (rows[1].made_from["blocks"], rows[1].made_from["terms"]) == (BLOCKS, None)


def test_notices_of_an_expired_counteroffer_contain_each_applicants_own_score(world):
    world.counter(5, consumer_report=[FIRST_REPORT, SECOND_REPORT])
    world.open_notice(6)
    world.silence(40)
    world.issue(41)
    rows = Notice.objects.filter(kind="adverse_action").order_by("id")
    assert [(row.applicant, row.made_from["reports"][0]["score"]) for row in rows] == [(None, 590), (2, 701)]


def test_error_for_a_report_with_an_invalid_applicant_contains_its_index(world):
    for applicant in (0, 3, "2", True, 1.0, None, [2]):
        error = refused(world, [FIRST_REPORT, {**SECOND_REPORT, "applicant": applicant}])
        assert error["details"][0]["field"] == "metadata.consumer_report[1].applicant", applicant
    alone = World(world.offer)
    alone.submit(0)
    assert refused(alone, SECOND_REPORT)["details"][0]["field"] == "metadata.consumer_report.applicant"


def test_consumer_reports_of_one_agency_about_both_applicants_are_accepted(world):
    world.reject(5, consumer_report=[REPORT, {**REPORT, "applicant": 2}])
    world.issue(6)
    assert all(notice.html.count("Example Bureau") == 1 for notice in notices_of(world))
