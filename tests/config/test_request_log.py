"""Test `GET /v1/requests`, the content of a request log line, and that the log does not fail a request."""

import json
import logging
import threading
import uuid
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import Group
from django.db import DataError, OperationalError
from django.utils import timezone

from config.ops import request_log
from config.ops.models import RequestLine
from config.ops.pruning import prune
from config.ops.request_log import LOG, first_id_at, groups_of, lines_of
from tests.api import ApiClient, assert_error, bearer_of, client_of
from tests.factories import ApplicationFactory, UserFactory
from tests.identity.support import issue
from tests.test_openapi import COMMITTED

PATH = "/requests"
NOWHERE = "/applications/0193aaaa-0000-7000-8000-000000000000"


def list_requests(client, query=""):
    LOG.flush()
    answer = client.read(f"{PATH}{query}")
    assert answer.status_code == 200, answer.content
    return answer.json()["requests"]


def line_of(user, **columns):
    """Store a line of `user`."""
    line = {"credential": "test", "method": "GET", "route": "/v1/x", "status": 200, "duration_ms": 1}
    return RequestLine.objects.create(
        account_id=user.pk, **{**line, "at": timezone.now(), "request_id": uuid.uuid4(), **columns}
    )


class TestLine:
    def test_request_log_line_contains_route_credential_and_status(self, user):
        issued = issue(user)
        answer = ApiClient(api_key=issued.key).read(f"{NOWHERE}?secret=geheim")
        (line,) = list_requests(client_of(user))
        assert line["at"] <= timezone.now().isoformat()
        assert {name: value for name, value in line.items() if name not in {"at", "duration_ms"}} == {
            "request_id": answer.headers["X-Request-Id"], "method": "GET", "route": "/v1/applications/{application_id}",
            "status": 404, "code": "E4002", "failed_fields": [], "credential": f"api_key:{issued.record.pk}",
        }  # fmt: skip
        assert line["duration_ms"] >= 0

    def test_request_log_lists_invalid_fields_without_values_or_unknown_names(self, api):
        body = {"url": "", "event_types": ["geheim"]}
        assert_error(api.send("/webhooks/endpoints", body), 400, "E1001")
        assert_error(api.send("/webhooks/endpoints", {**body, "geheim": 1}), 400, "E1001")
        assert [line["failed_fields"] for line in list_requests(api)] == [[], ["url", "event_types"]]

    def test_request_log_line_of_a_success_is_hidden_from_other_accounts(self, api, stranger_api):
        api.read("/applications")
        (line,) = list_requests(api)
        assert (line["status"], line["code"]) == (200, None)
        assert list_requests(stranger_api) == []

    @pytest.mark.parametrize("headers", [{"accept": "application/problem+json, */*"}, {"ucp_agent": "x"}])
    def test_request_log_line_contains_the_error_code_in_every_format(self, api, headers):
        path = "/ucp/catalog/lookup" if "ucp_agent" in headers else NOWHERE
        api.call("POST" if "ucp_agent" in headers else "GET", path, {}, **headers)
        (line,) = list_requests(api)
        assert line["code"] == {"accept": "E4002", "ucp_agent": "E1001"}[next(iter(headers))]

    def test_request_log_filters_by_method_credential_and_time(self, api, user):
        now = timezone.now()
        old = line_of(user, method="PUT", credential="api_key:x", at=now - timedelta(hours=2))
        new = line_of(user, at=now - timedelta(hours=1))
        before = "2026-01-01T00:00:00Z"
        between = (now - timedelta(minutes=90)).strftime("%Y-%m-%dT%H:%M:%SZ")
        for query, kept in (
            ("method=PUT", old), ("credential=api_key:x", old), (f"until={between}", old), (f"since={between}", new),
        ):  # fmt: skip
            shown = {line["request_id"] for line in list_requests(api, f"?{query}")}
            assert shown & {str(old.request_id), str(new.request_id)} == {str(kept.request_id)}, query
        for query in ("method=FETCH", "since=yesterday", "until=", "credential=", f"since={between}&until={before}"):
            assert_error(api.read(f"{PATH}?{query}"), 400, "E1001")

    def test_request_log_line_of_a_replayed_error_contains_the_error_code(self, api, user, key):
        path = f"/applications/{ApplicationFactory(consumer=user).pk}/status"
        for _ in range(2):
            assert api.replace(path, {"status": "approved", "updated_by": "x"}, key=key).status_code == 400
        assert [line["code"] for line in list_requests(api, "?status=400")] == ["E3001", "E3001"]

    def test_request_log_records_an_internal_error_with_its_code(self, api, monkeypatch):
        def broken(*_arguments, **_options):
            raise RuntimeError

        monkeypatch.setattr("credit.api.applications.views._list_applications", broken)
        api.read("/applications")
        (line,) = list_requests(api)
        assert (line["status"], line["code"]) == (500, "E5000")

    def test_request_log_omits_requests_without_an_account(self, user, client, anonymous):
        anonymous.read("/applications")
        ApiClient(bearer="x").read("/applications")
        ApiClient(api_key=issue(user).key).read("/nowhere")
        client.force_login(user)
        client.get("/account/")
        LOG.flush()
        assert not RequestLine.objects.exists()


class TestList:
    def test_request_log_can_be_filtered_and_paged_newest_first(self, api, user):
        lines = [line_of(user, status=400 + number, code=f"E100{number}", route=f"/v1/{number}") for number in range(3)]
        assert [item["status"] for item in list_requests(api, "?limit=2")] == [402, 401]
        page = api.read(f"{PATH}?limit=2&offset=2&route=/v1/0").json()
        assert (page["requests"], page["total"], page["has_more"]) == ([], 1, False)
        for query in ("status=401", "code=E1001", "route=/v1/1", f"request_id={lines[1].request_id}"):
            assert [item["request_id"] for item in list_requests(api, f"?{query}")] == [str(lines[1].request_id)]

    def test_partners_request_log_contains_requests_on_behalf_of_customers(self, user):
        user.groups.add(Group.objects.get(name="Partner"))
        partner = client_of(user)
        person = {"external_id": "c", "email": "jane@example.org", "name": "Jane"}
        account = partner.send("/accounts", person).json()["id"]
        token = partner.send(f"/accounts/{account}/tokens", {"scopes": ["applications:read"]}).json()["access_token"]
        acting = ApiClient(bearer=token)
        acting.read("/applications")
        assert_error(acting.read(PATH), 403, "E2005")
        lines = list_requests(partner, "?route=/v1/applications")
        assert [line["credential"].rpartition(" ")[2] for line in lines] == [f"act:{user.pk}"]
        assert not RequestLine.objects.filter(account_id=int(account)).exists()

    def test_request_log_list_returns_at_most_the_maximum_number_of_lines(self, api, user, monkeypatch):
        monkeypatch.setattr(request_log, "SHOWN_MAX", 2)
        monkeypatch.setattr(request_log, "GROUPED_MAX", 1)
        lines = [line_of(user) for _ in range(4)]
        assert [line.pk for line in lines_of(user.pk, now=timezone.now())] == [lines[3].pk, lines[2].pk]
        assert api.read(f"{PATH}?limit=1").json()["total"] == 2
        assert [group["number"] for group in groups_of(user.pk, now=timezone.now())] == [1]


class TestRetention:
    def test_request_log_line_is_deleted_after_7_days(self, user, monkeypatch):
        old = timezone.now() - timedelta(days=7, minutes=1)
        monkeypatch.setattr(request_log, "time", SimpleNamespace(time=old.timestamp))
        client_of(user).read("/applications")
        LOG.flush()
        monkeypatch.undo()
        (gone,) = RequestLine.objects.all()
        kept = line_of(user)
        assert gone.pk.version == kept.pk.version == 7
        assert gone.pk < first_id_at(old + timedelta(seconds=1)) < kept.pk
        assert [line.pk for line in lines_of(user.pk, now=timezone.now())] == [kept.pk]
        assert prune(now=timezone.now())["request_lines"] == 1
        assert RequestLine.objects.get() == kept


MARK = "MaRkEr"


def test_no_value_sent_by_a_caller_is_in_the_request_log(user):
    """Calls every operation with a mark in every value that a caller controls."""
    user.groups.add(*Group.objects.all())
    client, number = ApiClient(bearer=bearer_of(user)), 0
    for path, methods in json.loads(COMMITTED.read_text())["paths"].items():
        for method, operation in methods.items():
            if operation["security"] == [{}]:
                continue
            for name in [item["name"] for item in operation.get("parameters", ()) if item["in"] == "path"]:
                path = path.replace("{" + name + "}", f"{MARK}-{name}")  # noqa: PLW2901
            body = {MARK: MARK, "name": MARK, "user_id": MARK, "status": MARK}
            headers = {"x_request_id": MARK, "idempotency_key": MARK, "user_agent": MARK, "ucp_agent": MARK}
            client.call(method.upper(), f"{path}?{MARK}={MARK}&status={MARK}", body, cookie=MARK, **headers)
            number += 1
    LOG.flush()
    lines = list(RequestLine.objects.filter(account_id=user.pk))
    assert len(lines) == number > 130
    assert not [line for line in lines if MARK.lower() in str(vars(line)).lower()]


class TestCost:
    def test_request_log_lines_beyond_the_buffer_are_dropped_and_counted(self, api, monkeypatch, caplog):
        monkeypatch.setattr(request_log, "WAITING_MAX", 2)
        for _ in range(5):
            assert api.read("/applications").status_code == 200
        LOG.flush()
        assert RequestLine.objects.count() == 2
        assert [record.getMessage() for record in caplog.records] == ["3 request lines were dropped"]

    def test_request_log_lines_remain_buffered_while_the_database_is_unavailable(self, api, monkeypatch, caplog):
        def away(_lines):
            raise OperationalError

        api.read("/applications")
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(request_log, "_write", away)
            LOG.flush()
        assert not RequestLine.objects.exists()
        LOG.flush()
        assert RequestLine.objects.count() == 1
        assert caplog.records == []

    def test_unwritable_request_log_lines_are_dropped(self, api, monkeypatch, caplog):
        def refused(_lines):
            raise DataError

        api.read("/applications")
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(request_log, "_write", refused)
            LOG.flush()
        LOG.flush()
        assert not RequestLine.objects.exists()
        assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2

    def test_request_log_lines_beyond_one_batch_are_written(self, api, user, monkeypatch):
        monkeypatch.setattr(request_log, "BATCH", 2)
        for _ in range(5):
            api.read("/applications")
        LOG.flush()
        assert RequestLine.objects.filter(account_id=user.pk).count() == 5

    def test_background_thread_writes_request_log_lines(self, committed, monkeypatch):
        written = threading.Event()
        monkeypatch.setattr(request_log, "FLUSH_SECONDS", 0.01)
        monkeypatch.setattr(request_log, "_write", lambda _lines: written.set())
        log = request_log.RequestLog()
        monkeypatch.setattr("config.ops.access_log.LOG", log)
        client_of(UserFactory()).read("/applications")
        assert written.wait(120)
