"""Test that the access log has one line per request, without personal data."""

import hashlib
import json
import logging
import re

import pytest
from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import get_resolver

from config.checks import routes
from config.ops import access_log as access
from config.ops.logs import JsonLines, ReadableLines
from tests.api import ApiClient
from tests.identity.support import issue


@pytest.fixture
def lines(settings, caplog):
    """Return the records of requests, while the access log is on."""
    settings.ACCESS_LOG = True
    caplog.set_level(logging.INFO, "platform.access")
    return lambda: [record for record in caplog.records if record.name == "platform.access"]


def as_json(record):
    """Return a record in the format of production."""
    record.request_id = "-"
    return json.loads(JsonLines().format(record))


class TestLine:
    def test_access_log_line_contains_route_credential_and_account(self, lines, user):
        client = ApiClient(api_key=(issued := issue(user)).key)
        answer = client.read("/applications/0193aaaa-0000-7000-8000-000000000000?secret=geheim")
        (line,) = lines()
        content = as_json(line)
        assert answer.status_code == 404
        assert content["route"] == "/v1/applications/{application_id}"
        assert (content["method"], content["status"], content["service"]) == ("GET", 404, "platform")
        assert (content["caller"], content["user_id"]) == (f"api_key:{issued.record.pk}", user.pk)
        assert content["duration_ms"] > 0
        assert "geheim" not in line.getMessage() + json.dumps(content)
        assert "0193aaaa" not in line.getMessage() + json.dumps(content)

    def test_access_log_lines_contain_the_standard_log_fields(self, lines, api):
        api.read("/applications")
        other = logging.LogRecord("platform.errors", logging.ERROR, "", 0, "unhandled", None, None)
        other.request_id = "-"
        ordinary = json.loads(JsonLines().format(other))
        ours = as_json(lines()[0])
        assert set(ordinary) == {"time", "level", "logger", "message", "request_id"} < set(ours)
        assert len(ours["time"]) == len(ordinary["time"]) == 23

    def test_readable_access_log_line_contains_caller_request_and_status(self, lines, user):
        issued = issue(user)
        ApiClient(api_key=issued.key).read("/payments/calculate-fee?amount=1&secret=geheim")
        (line,) = lines()
        written = ReadableLines().format(line)
        path, who = "/v1/payments/calculate-fee", rf"api_key:{issued.record.pk} \(user {user.pk}\)"
        assert re.fullmatch(rf"\d\d:\d\d:\d\d platform GET {path} 200 in \d+\.\d ms by {who}", written)
        assert issued.key not in written

    def test_readable_access_log_format_appends_the_caller_and_changes_no_other_line(self, lines, client, db):
        client.get("/v1/applications")
        assert ReadableLines().format(lines()[0]).endswith(" ms by nobody")
        other = logging.LogRecord("platform.errors", logging.ERROR, "", 0, "unhandled", None, None)
        other.request_id = "-"
        assert ReadableLines().format(other).endswith(" ERROR   platform.errors [-] unhandled")

    def test_access_log_replaces_unknown_paths_methods_and_hosts_with_fixed_words(self, lines, client, db):
        for path in ("/v1/nowhere/ada@example.com", "/v1/applications/", "/ada"):
            client.get(path)
        client.get("/v1/applications", headers={"host": "evil.example"})
        assert ({line.route for line in lines()}, lines()[-1].status) == ({access.UNMATCHED}, 400)
        client.generic("ADA@EXAMPLE", "/v1/health")
        assert lines()[-1].method == access.OTHER_METHOD

    def test_rejected_form_is_logged_without_its_path(self, lines, caplog, db):
        response = Client(enforce_csrf_checks=True).post("/account/confirm/geheim", {"name": "ada"})
        assert (response.status_code, lines()[-1].route) == (403, "/account/confirm/{key}")
        assert "geheim" not in "".join(record.getMessage() for record in caplog.records)

    def test_access_log_line_of_a_page_contains_the_visitors_id(self, lines, client, db):
        staff = get_user_model().objects.create_user("rita", password="x", is_staff=True, is_superuser=True)
        client.force_login(staff)
        client.get("/admin/identity/user/")
        line = lines()[-1]
        assert (line.route, line.caller, line.user_id) == ("/admin/identity/user/", "session", staff.pk)
        assert "rita" not in line.getMessage()

    def test_access_log_line_of_a_visitor_without_a_session_has_no_account(self, lines, client, db):
        client.get("/admin/login/")
        assert [(line.caller, line.user_id) for line in lines()] == [(None, None)]

    def test_access_log_can_be_disabled(self, lines, settings, api):
        settings.ACCESS_LOG = False
        api.read("/applications")
        assert lines() == []

    @pytest.mark.urls("ledger.urls")
    def test_the_ledger_writes_the_same_access_log(self, lines, client, db, settings, tmp_path):
        settings.LEDGER_GUARD_FILE = tmp_path / "guard"
        client.get(f"/hash/{'a' * 64}")
        client.get("/tile/0/000")
        assert [line.route for line in lines()] == ["/hash/{report_hash}", "/tile/{path}"]

    @pytest.mark.urls("ledger.urls")
    def test_ledger_access_log_contains_the_digest_of_a_key(self, lines, client, db, settings, tmp_path):
        digest = hashlib.sha256(b"geheim").hexdigest()
        settings.PRODUCTION, settings.LEDGER_API_KEYS = True, frozenset({digest})
        client.get("/user/7/hashes", headers={"x-api-key": "geheim"}, secure=True)
        assert [(line.caller, line.user_id) for line in lines()] == [(f"key:{digest[:16]}", None)]

    def test_failing_page_is_logged_without_its_url_and_message(self, lines, client, caplog, db, monkeypatch):
        said = "ada@example.com"

        def broken(*_arguments, **_options):
            raise RuntimeError(said)

        monkeypatch.setattr("config.backoffice.site.redirect_to_login", broken)
        client.raise_request_exception = False
        assert client.get("/admin/login/?next=geheim").status_code == 500
        assert [line.status for line in lines()] == [500]
        (fault,) = [record for record in caplog.records if record.name == "platform.errors"]
        written = JsonLines().format(fault)
        assert "RuntimeError" in written
        assert "geheim" not in written
        assert said not in written


def test_access_log_path_template_of_every_route_has_no_regular_expression():
    for route, template in [
        ("", "/"), ("v1/applications/<str:application_id>/status", "/v1/applications/{application_id}/status"),
        ("admin/credit/application/<path:object_id>/change/", "/admin/credit/application/{object_id}/change/"),
        (r"^tile/(?P<path>.*)\Z", "/tile/{path}"),
        (r"admin/^(?P<app_label>auth|identity)/$", "/admin/{app_label}/"),
        (r"admin/(?P<url>.*)$", "/admin/{url}"),
    ]:  # fmt: skip
        assert access.template_of(route) == template, (route, template)
    for urlconf in ("config.urls", "ledger.urls"):
        templates = {access.template_of(route) for route, _ in routes(get_resolver(urlconf).url_patterns)}
        assert len(templates) > 10
        assert not {template for template in templates if set(template) & set("()<>?^$\\*")}


class TestTracebacks:
    def written(self, error):
        """Return the log line of an exception."""
        caught = (type(error), error, error.__traceback__)
        record = logging.LogRecord("platform.errors", logging.ERROR, "", 0, "unhandled", None, caught)
        record.request_id = "-"
        return JsonLines().format(record)

    def test_exception_log_contains_all_causes_but_messages_only_of_programming_errors(self):
        name = "ada@example.com"
        try:
            try:
                int(name)
            except ValueError as cause:
                raise RuntimeError(name) from cause
        except RuntimeError as error:
            written = self.written(error)
        assert written.index("ValueError") < written.index("builtins.RuntimeError")
        assert name not in written
        assert "has no attribute" in self.written(AttributeError("'X' object has no attribute 'y'"))

    def test_a_database_error_is_logged_by_code_and_constraint(self, user, needs_postgresql):
        with pytest.raises(IntegrityError) as caught, transaction.atomic():
            get_user_model().objects.create(username=user.username)
        assert user.username in str(caught.value)
        written = self.written(caught.value)
        assert user.username not in written
        assert "23505" in written
