"""Test requests, readers, unknown outcomes, reuse, and facts of vendor reports."""

import json
import logging
import os
from dataclasses import fields, replace
from datetime import datetime, timedelta
from io import BytesIO
from random import Random
from unittest.mock import Mock
from zipfile import ZipFile

import pytest
from cryptography.fernet import Fernet
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from config.clients.provider import ProviderError
from config.core.casework import DataAccess
from config.core.erasure import erase_rows
from config.core.export import write_export
from config.core.lifecycle import Actor
from config.ops.request_log import LOG
from config.webhooks.models import Event
from credit.applications.services import follow_sharing
from credit.models import Application, Report
from credit.reports.sandbox import SandboxVendor
from credit.reports.services import collect, request_report
from credit.reports.vendor import UnknownReport, VendorReport
from identity.models import Consent
from tests.api import assert_error, client_of
from tests.credit.applicants import PERSON
from tests.credit.scoring.making import join
from tests.factories import ApplicationFactory, ProviderFactory, UserFactory
from tests.hostile_answers import HOSTILE

pytestmark = pytest.mark.django_db

BODY = {"kind": "credit", "purpose": "credit_transaction", "applicant": 1}
PLACE = f"{__name__}:CountingVendor"
MARK = "M4RK-of-raw"
KILLS = int(os.environ.get("KILLS", "10"))
# The family names of the sandbox, with the results of a request, and the events.
RESULTS = [
    ("Thickfile", 201, "received", ["report.received"]), ("Thinfile", 201, "received", ["report.received"]),
    ("Nofile", 201, "no_file", ["report.received"]), ("Frozen", 201, "frozen", ["report.received"]),
    ("Slow", 202, "requested", []), ("Broken", 502, "failed", ["report.failed"]),
]  # fmt: skip


class CountingVendor(SandboxVendor):
    """The sandbox's vendor, which counts its sales by id, and can raise before or after a sale."""

    name = "counting"
    sold: dict[str, int] = {}
    dies: BaseException | None = None
    is_dead_before_sale = False

    def request(self, request):
        if self.dies and self.is_dead_before_sale:
            raise self.dies
        self.sold.setdefault(request.id, len(self.sold))
        if self.dies:
            raise self.dies
        answer = super().request(request)
        return replace(answer, raw=f"{MARK} {answer.raw}") if answer.raw else answer

    def result(self, request):
        if request.id not in self.sold:
            raise UnknownReport
        return super().request(request)


@pytest.fixture
def vendor(settings, monkeypatch):
    settings.REPORTS = PLACE
    monkeypatch.setattr(CountingVendor, "sold", {})
    return CountingVendor


def under_review(consumer, *names, provider=700, **columns):
    persons = [{**PERSON, "legal_name": f"Rosa {name}"} for name in names]
    application = ApplicationFactory(consumer=consumer, status="under_review", provider_id=provider, **columns)
    body = {"updated_by": str(consumer.pk), "applicants": persons}
    response = client_of(consumer).replace(f"/applications/{application.pk}", body)
    assert response.status_code == 200, response.content
    Application.objects.filter(pk=application.pk).update(submitted_at=timezone.now())
    application.refresh_from_db()
    return application


class AlteredVendor(SandboxVendor):
    """A vendor whose reports have a changed field."""

    name, field, value = "altered", "status", None

    def request(self, request):
        return replace(super().request(request), **{self.field: self.value})


@pytest.fixture
def application(user):
    return under_review(user, "Thickfile", "Thinfile")


def ask(client, application, key=None, **changes):
    return client.send(f"/applications/{application.pk}/reports", {**BODY, **changes}, key=key)


def facts(client, application):
    result = client.read(f"/applications/{application.pk}/facts").json()["facts"]
    return {fact["name"]: fact["value"] for fact in result if fact["name"].startswith("report.")}


class TestRequest:
    def test_report_requested_by_a_reviewer_is_received(self, reviewers_api, reviewer, application):
        response = ask(reviewers_api, application)
        assert response.status_code == 201, response.content
        report = response.json()
        assert {
            "status": "received", "vendor": "sandbox", "applicant": 1, "requested_by": str(reviewer.pk),
            "reused": False, "raw": None,
        }.items() <= report.items()  # fmt: skip
        assert report["summary"]["score"]["value"] == 724
        assert facts(reviewers_api, application)["report.score"] == 724

    def test_sandbox_family_name_selects_the_report_result_and_report_events_contain_only_ids(self, reviewers_api):
        now = timezone.now()
        lender = ProviderFactory(pk="700", created_at=now)
        for name, http, status, types in RESULTS:
            application = under_review(UserFactory(), name, created_at=now)
            response = ask(reviewers_api, application)
            report = Report.objects.get(application=application)
            assert (response.status_code, report.status) == (http, status), response.content
            assert facts(reviewers_api, application)["report.status"] == status
            events = Event.objects.filter(account=lender.owner, type__startswith="report.")
            ids = {"report_id": str(report.pk), "application_id": str(application.pk)}
            assert [(event.type, event.object) for event in events] == [(type_, ids) for type_ in types]
            events.delete()
        assert_error(response, 502, "E5005")

    def test_slow_report_is_received_after_the_vendor_delay_or_fails_after_a_day(self, reviewers_api, user):
        application = under_review(user, "Slow")
        report = ask(reviewers_api, application).json()
        row = Report.objects.get()
        assert row.look_at - row.requested_at == timedelta(seconds=10)
        message = assert_error(ask(reviewers_api, application), 409, "E3022")["message"]
        assert message == "A report of this kind about this applicant is already requested. Wait for its result."
        waiting = {"finished": 0, "waiting": 1, "failed": 0}
        assert collect(now=timezone.now() + timedelta(minutes=2)) == waiting  # The vendor responds after 30 s.
        Report.objects.update(requested_at=timezone.now() - timedelta(seconds=31))
        assert collect(now=timezone.now() + timedelta(minutes=4))["finished"] == 1
        whole = reviewers_api.read(f"/applications/{application.pk}/reports/{report['id']}").json()
        assert (whole["status"], whole["summary"]["score"]["value"]) == ("received", 724)
        other = under_review(UserFactory(), "Slow")
        ask(reviewers_api, other)
        collect(now=timezone.now() + timedelta(hours=25))
        assert facts(reviewers_api, other) == {"report.status": "failed"}

    def test_invalid_report_request_is_rejected(self, reviewers_api, user, application, settings):
        for changes, code in (
            ({"purpose": None}, "E1022"), ({"purpose": "curiosity"}, "E1001"), ({"kind": "gossip"}, "E1001"),
            ({"applicant": 3}, "E1001"),
        ):  # fmt: skip
            assert_error(ask(reviewers_api, application, **changes), 400, code)
        alone = under_review(user, "Thickfile")
        assert_error(ask(reviewers_api, alone, applicant=2), 400, "E3023")
        Application.objects.update(status="approved")
        assert_error(ask(reviewers_api, application), 400, "E3004")
        Application.objects.update(status="under_review")
        settings.REPORTS = "off"
        assert_error(ask(reviewers_api, application), 400, "E3023")
        assert not Report.objects.exists()

    def test_unexpired_report_of_the_same_person_is_reused(self, reviewers_api, user, application):
        first = ask(reviewers_api, application).json()
        again = ask(reviewers_api, application)
        assert (again.status_code, again.json()) == (200, {**first, "reused": True})
        other = ask(reviewers_api, under_review(user, "Thickfile"))
        assert other.status_code == 200
        assert other.json()["summary_sha256"] == first["summary_sha256"]
        Report.objects.update(expires_at=timezone.now())
        assert ask(reviewers_api, application).status_code == 201

    def test_key_rotation_preserves_reports_and_open_report_requests(self, reviewers_api, user, application, settings):
        first = ask(reviewers_api, application).json()
        slow = under_review(UserFactory(), "Slow")
        ask(reviewers_api, slow)
        new = Fernet.generate_key().decode()
        settings.FIELD_ENCRYPTION_KEYS = [new, *settings.FIELD_ENCRYPTION_KEYS]
        call_command("rotate_encryption_key", as_json=True)
        settings.FIELD_ENCRYPTION_KEYS = [new]
        again = ask(reviewers_api, application)
        assert (again.status_code, again.json()["id"]) == (200, first["id"])
        collect(now=timezone.now() + timedelta(minutes=2))
        assert Report.objects.get(application=slow).status == "requested"

    def test_report_of_another_account_address_or_purpose_is_not_reused(self, reviewers_api, user, application):
        first = ask(reviewers_api, application).json()
        assert ask(reviewers_api, under_review(UserFactory(), "Thickfile")).status_code == 201
        assert ask(reviewers_api, application, purpose="written_instructions").status_code == 201
        moved = {**PERSON, "legal_name": "Rosa Thickfile", "address": {**PERSON["address"], "line1": "9 Other Street"}}
        body = {"updated_by": str(user.pk), "applicants": [moved]}
        assert client_of(user).replace(f"/applications/{application.pk}", body).status_code == 200
        again = ask(reviewers_api, application)
        assert (again.status_code, again.json()["id"] != first["id"]) == (201, True)

    def test_applicant_can_withdraw_the_written_instructions_consent(self, api, reviewers_api, application):
        assert ask(reviewers_api, application, applicant=2, purpose="written_instructions").status_code == 201
        assert not Consent.objects.exists()
        for kind, number in (("credit", 1), ("income", 2), ("credit", 2)):
            assert ask(reviewers_api, application, kind=kind, purpose="written_instructions").status_code in {200, 201}
            assert api.read("/account/consents").json()["total"] == number
        income, credit = api.read("/account/consents").json()["consents"]
        assert (credit["kind"], credit["text_sha256"]) == ("credit_report", None)
        assert credit["scope"] == f"{application.pk}: credit report to lender 700"
        assert api.remove(f"/account/consents/{credit['id']}").status_code == 200
        refusal = assert_error(ask(reviewers_api, application, purpose="written_instructions"), 400, "E3023")
        assert "ended the consent" in refusal["message"]
        assert ask(reviewers_api, application, kind="income", purpose="written_instructions").status_code == 200
        assert ask(reviewers_api, application).status_code == 201
        assert (Report.objects.count(), Consent.objects.count()) == (4, 2)
        Application.objects.update(status="withdrawn")
        assert follow_sharing(now=timezone.now()) == {"sharing_ended": 1}
        assert Consent.objects.get(pk=income["id"]).ended_at is not None

    def test_report_of_the_previous_applicant_is_not_reused_for_a_changed_applicant(self, reviewers_api, user):
        application = under_review(user, "Slow")
        ask(reviewers_api, application)
        body = {"updated_by": str(user.pk), "applicants": [{**PERSON, "legal_name": "Rosa Thinfile"}]}
        client_of(user).replace(f"/applications/{application.pk}", body)
        collect(now=timezone.now() + timedelta(minutes=2))
        assert Report.objects.get().status == "failed"


class TestReaders:
    def test_raw_report_is_returned_to_reviewers_and_applicants_see_only_their_own_report(
        self, api, user, reviewers_api, application
    ):
        reports = [ask(reviewers_api, application, applicant=number).json() for number in (1, 2)]
        path = f"/applications/{application.pk}/reports"
        assert_error(api.read(f"{path}/{reports[1]['id']}"), 404, "E4015")
        assert json.loads(reviewers_api.read(f"{path}/{reports[1]['id']}").json()["raw"])["score"]["value"] == 611
        assert [row.details for row in DataAccess.objects.all() if row.details] == [{"report": reports[1]["id"]}]
        browser = Client()
        browser.force_login(user)
        page = browser.get(f"/my/applications/{application.pk}").content.decode()
        shown = ("Informe de crédito", "724", "El prestamista", "Sandbox Bureau")
        assert [word for word in shown if word not in page] == []
        assert [word for word in ("rita", "611") if word in page] == []

    def test_report_about_an_earlier_applicant_is_not_a_fact(self, reviewers_api, user):
        application = under_review(user, "Thickfile")
        ask(reviewers_api, application)
        rosa = {**PERSON, "legal_name": "Rosa Thickfile"}
        others = (
            {"legal_name": "Bob Thickfile"}, {"date_of_birth": "1970-01-01"}, {"date_of_birth": None},
            {"address": {**PERSON["address"], "line1": "9 Other Street"}},
        )  # fmt: skip
        names = {"report.score", "report.status"}
        for person, expected in (*((rosa | change, set()) for change in others), (rosa, names)):
            body = {"updated_by": str(user.pk), "applicants": [person]}
            assert client_of(user).replace(f"/applications/{application.pk}", body).status_code == 200
            assert names & facts(reviewers_api, application).keys() == expected

    def test_facts_about_the_second_applicant_come_from_the_second_applicants_report(self, reviewers_api, application):
        ask(reviewers_api, application, applicant=2)
        assert facts(reviewers_api, application) == {}
        path = f"/applications/{application.pk}/facts?applicant=2"
        facts_by_name = {fact["name"]: fact for fact in reviewers_api.read(path).json()["facts"]}
        assert facts_by_name["report.score"] == {
            "name": "report.score", "value": 611, "source": "report", "as_of": str(timezone.now().date()),
            "differs_from_claim": None,
        }  # fmt: skip
        assert {name.partition(".")[0] for name in facts_by_name} == {"report"}
        assert_error(reviewers_api.read(path.replace("=2", "=3")), 400, "E1001")

    def test_applicants_readers_and_strangers_cannot_request_reports(self, api, application):
        for client in (api, client_of(join(ProviderFactory(pk="700"), role="reader"))):
            assert_error(ask(client, application), 403, "E2010")
        assert_error(ask(client_of(UserFactory()), application), 404, "E4002")


class TestUnknownOutcomes:
    def test_report_whose_order_timed_out_is_collected_without_a_second_purchase(
        self, reviewers_api, vendor, application, monkeypatch
    ):
        monkeypatch.setattr(vendor, "dies", ProviderError("timeout", outcome_unknown=True))
        assert ask(reviewers_api, application).status_code == 202
        monkeypatch.setattr(vendor, "dies", None)
        with monkeypatch.context() as patch:
            patch.setattr(vendor, "result", Mock(side_effect=ProviderError("connect", outcome_unknown=False)))
            collect(now=timezone.now() + timedelta(minutes=2))
        assert Report.objects.get().status == "requested"
        collect(now=timezone.now() + timedelta(minutes=60))
        assert (Report.objects.get().status, len(vendor.sold)) == ("received", 1)

    def test_report_with_an_unknown_outcome_fails_only_after_a_definite_vendor_rejection(
        self, reviewers_api, vendor, application, monkeypatch
    ):
        monkeypatch.setattr(vendor, "is_dead_before_sale", True)
        monkeypatch.setattr(vendor, "dies", ProviderError("timeout", outcome_unknown=True))
        ask(reviewers_api, application)
        for minutes, is_unknown, status in ((2, True, "requested"), (60, False, "failed")):
            monkeypatch.setattr(vendor, "dies", ProviderError("refused", outcome_unknown=is_unknown))
            collect(now=timezone.now() + timedelta(minutes=minutes))
            assert (Report.objects.get().status, vendor.sold) == (status, {})

    def test_retry_delay_of_a_report_request_with_an_unknown_outcome_grows_to_an_hour(
        self, reviewers_api, vendor, application, monkeypatch
    ):
        monkeypatch.setattr(vendor, "dies", ProviderError("timeout", outcome_unknown=True))
        ask(reviewers_api, application)
        report = Report.objects.get()
        for minutes, pause in ((2, 30), (60, 900), (600, 3600)):
            monkeypatch.setattr(vendor, "sold", {})
            now = report.requested_at + timedelta(minutes=minutes)
            collect(now=now)
            report.refresh_from_db()
            assert report.look_at - now == timedelta(seconds=pause)

    def test_processes_killed_during_a_request_do_not_order_a_report_twice(self, reviewer, user, vendor, monkeypatch):
        application, random = under_review(user, "Thickfile"), Random(44)
        actor = Actor(reviewer, "jwt:x", second_factor=True)
        for number in range(KILLS):
            now = timezone.now()
            monkeypatch.setattr(vendor, "dies", KeyboardInterrupt())
            monkeypatch.setattr(vendor, "is_dead_before_sale", random.random() < 0.5)
            with pytest.raises(KeyboardInterrupt):
                request_report(
                    str(application.pk), kind="credit", purpose="credit_transaction", applicant=1, actor=actor, now=now
                )
            monkeypatch.setattr(vendor, "dies", None)
            collect(now=now + timedelta(minutes=2))
            assert len(vendor.sold) == number + 1
            Report.objects.update(expires_at=now)
        assert Report.objects.filter(status="received").count() == KILLS

    def test_malformed_report_fails_and_its_content_is_not_stored(
        self, reviewers_api, vendor, application, monkeypatch, caplog
    ):
        wrong = VendorReport("received", {"agency": {"name": MARK}, "surprise": MARK}, raw=MARK)
        monkeypatch.setattr(vendor, "request", lambda *_: wrong)
        with caplog.at_level(logging.DEBUG):
            assert ask(reviewers_api, application).json()["status"] == "failed"
        assert MARK not in caplog.text


def test_raw_report_does_not_appear_in_logs_events_exports_or_unencrypted_columns(
    api, reviewers_api, reviewer, vendor, application, user, key, caplog
):
    path = f"/applications/{application.pk}/reports"
    with caplog.at_level(logging.DEBUG):
        first, replayed = (ask(reviewers_api, application, key=key) for _ in range(2))
        report = first.json()
        assert (replayed.headers["Idempotent-Replayed"], replayed.json()) == ("true", report)
        assert "Sandbox Bureau" in first.content.decode()
        assert reviewers_api.read(f"{path}/{report['id']}").json()["raw"].startswith(MARK)
        LOG.flush()
    for account in (user, reviewer):
        for is_for_partner in (False, True):
            archive = BytesIO()
            write_export(account.pk, archive, now=timezone.now(), is_for_partner=is_for_partner)
            with ZipFile(archive) as copies:
                assert MARK not in "".join(copies.read(name).decode(errors="replace") for name in copies.namelist())
    assert MARK not in caplog.text
    for client in (api, reviewers_api):
        assert MARK not in json.dumps([client.read(path).json(), client.read("/requests").json()])
    assert MARK not in api.read(f"{path}/{report['id']}").content.decode()
    with connection.cursor() as cursor:  # The stored rows include events, the request log, and idempotency records.
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            rows = str([bytes(v) if isinstance(v, memoryview) else v for row in cursor for v in row])
            assert [word for word in (MARK, "Sandbox Bureau") if word in rows] == [], table
    assert report["summary"]["result"] == "A thick file"


def test_erasure_deletes_the_content_of_the_report(reviewers_api, application):
    ask(reviewers_api, application)
    erase_rows(application.consumer_id, now=timezone.now() + timedelta(days=4_000))
    row = Report.objects.get()
    assert (row.summary, row.summary_sha256, row.raw) == (None, None, None)


@pytest.mark.parametrize("field", [column.name for column in fields(VendorReport)])
def test_vendor_report_with_a_hostile_value_never_causes_a_server_error(
    settings, monkeypatch, application, reviewers_api, field
):
    settings.REPORTS = f"{__name__}:AlteredVendor"
    monkeypatch.setattr(AlteredVendor, "field", field)
    for value in (*HOSTILE, timezone.now(), datetime(2099, 1, 1)):  # noqa: DTZ001  a naive datetime is the fault
        monkeypatch.setattr(AlteredVendor, "value", value)
        response = reviewers_api.send(f"/applications/{application.pk}/reports", BODY)
        assert response.status_code in {200, 201, 202}, (value, response.content)
        assert response.json()["status"] in {"received", "failed", "requested"}, (value, response.content)
        Report.objects.filter(application=application).update(status="failed", score_waits=False)
