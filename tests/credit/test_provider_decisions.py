"""Test the decision export at `GET /providers/{id}/decisions`, and the permissions of each role."""

import base64
import csv
import io
import json
from datetime import timedelta
from hashlib import sha256

import pytest
from django.utils import timezone

from config.core.casework import DataAccess
from config.core.json_text import rfc3339
from config.core.lifecycle import Actor
from credit.models import Application, Clock, Notice, ProviderMember
from credit.offers import decisions
from identity.access.keys import create_api_key
from tests.api import ApiClient, assert_error, client_of
from tests.credit.scoring.past import model_of, version_of
from tests.factories import ApplicationFactory, OfferFactory, ProviderFactory, UserFactory

pytestmark = pytest.mark.usefixtures("reviewed")

NOW = timezone.now()
BECAUSE = {"metadata": {"reasons": ["no_credit_file"]}}
PATH = "/providers/700/decisions"
COLUMNS = ["id", "submitted", "decided", "outcome", "terms", "reasons", "automated", "score", "override", "days"]


def member_of(provider, role):
    user = UserFactory()
    ProviderMember.objects.create(provider=provider, user=user, role=role)
    return user


def decided(by, to="rejected", days_ago=0, **members):
    application = ApplicationFactory(
        status="under_review", submitted_at=NOW - timedelta(days=days_ago + 3), updated_at=NOW - timedelta(days=400),
        **members,
    )  # fmt: skip
    fields = {"reasons": [{"code": "other", "text": "=cmd()"}, "no_credit_file"]} if to == "rejected" else None
    application.transition_to(
        to, actor=Actor(user=by, credential="jwt:x"), now=NOW - timedelta(days=days_ago), metadata=fields
    )
    return application


def body_of(answer):
    return b"".join(answer.streaming_content)


class TestExportOfDecisions:
    def test_decisions_are_exported_as_csv_and_json_lines_with_a_digest(self, api, user, provider):
        application = decided(user)
        answer = api.read(PATH, accept="text/csv")
        content = body_of(answer)
        assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
        assert answer.headers["Repr-Digest"] == f"sha-256=:{base64.b64encode(sha256(content).digest()).decode()}:"
        head, row = csv.reader(io.StringIO(content.decode("utf-8-sig")))
        assert head == COLUMNS
        assert row[0] == str(application.pk)
        assert row[3:] == ["rejected", "", row[5], "false", "", "false", "3.0"]
        assert not [cell for cell in row if cell.startswith(("=", "+", "-", "@"))]
        for media_type in ("application/jsonl", "application/x-ndjson"):
            lines = body_of(api.read(PATH, accept=media_type)).splitlines()
            [shown] = map(json.loads, lines)
            assert list(shown) == COLUMNS
            assert shown["reasons"] == [{"code": "other", "text": "=cmd()"}, "no_credit_file"]
            assert (shown["automated"], shown["score"], shown["override"], shown["days"]) == (False, None, False, 3.0)
        assert api.read(PATH).headers["Content-Type"].startswith("text/csv")
        assert_error(api.read(PATH, accept="application/json"), 406, "E1014")
        seen = DataAccess.objects.filter(action="export").latest("id")
        assert (seen.provider, seen.details["rows"]) == ("700", 1)

    def test_decisions_are_exported_in_order_of_decision_time(self, api, user, provider, monkeypatch):
        late, early = decided(user, days_ago=1), decided(user, days_ago=9)
        elsewhere = ProviderFactory(id="701")
        decided(elsewhere.owner, provider_id=701)

        def ids(query=""):
            lines = body_of(api.read(f"{PATH}{query}", accept="application/jsonl")).splitlines()
            return [json.loads(line)["id"] for line in lines]

        between = rfc3339(NOW - timedelta(days=5))
        assert ids() == [str(early.pk), str(late.pk)]
        assert ids(f"?from={between}") == [str(late.pk)]
        assert ids(f"?to={between}") == [str(early.pk)]
        for query in ("from=yesterday", "from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z"):
            assert_error(api.read(f"{PATH}?{query}"), 400, "E1001")
        monkeypatch.setattr(decisions, "ROWS_MAX", 1)
        assert_error(api.read(PATH), 400, "E1001")

    def test_decisions_can_be_exported_by_lender_members_of_every_role_and_by_no_other_account(
        self, user, provider, stranger_api
    ):
        decided(user)
        for role in ProviderMember.ROLES:
            assert client_of(member_of(provider, role)).read(PATH).status_code == 200
        assert_error(stranger_api.read(PATH), 404, "E4012")
        for scopes, code in ((["applications:read"], "E2005"), (["score:read"], "E2005")):
            key = create_api_key(owner=user, name=scopes[0], scopes=scopes, now=timezone.now()).key
            assert_error(ApiClient(api_key=key).read(PATH), 403, code)
        both = create_api_key(owner=user, name="n", scopes=["applications:read", "score:read"], now=timezone.now()).key
        assert ApiClient(api_key=both).read(PATH).status_code == 200


@pytest.mark.parametrize("policy", ["open", "reviewed", "four_eyes"])
def test_reader_of_a_lender_can_read_but_not_decide_applications(provider, settings, policy):
    settings.REVIEW_POLICY = policy
    client = client_of(member_of(provider, "reader"))
    application = ApplicationFactory(status="under_review", submitted_at=NOW)
    place = f"/applications/{application.pk}"
    assert client.read(place).status_code == 200
    assert client.read("/providers/700/applications").json()["total"] == 1
    fields = {"status": "rejected", "updated_by": "x", "metadata": {"reasons": ["no_credit_file"]}}
    assert_error(client.replace(f"{place}/status", fields), 403, "E2010")
    assert_error(client.send(f"{place}/documents", {"names": ["Payslip"]}), 403, "E2010")
    terms = {"provider_id": "700", "name": "Loan", "product_type": "personal_loan"}
    assert_error(client.send("/provider-offers", terms), 403, "E2011")
    assert_error(client.send("/scoring/models", {"provider_id": "700", "name": "Card"}), 403, "E2011")
    if policy != "open":
        assert_error(client.remove(f"{place}/pending-decision"), 403, "E2010")
    application.refresh_from_db()
    assert application.status == "under_review"


def test_decision_reason_with_only_invisible_characters_is_rejected(provider):
    client = client_of(member_of(provider, "reviewer"))
    open_application = ApplicationFactory(status="under_review", submitted_at=NOW)
    accepted = ApplicationFactory(status="approved", accepted_at=NOW, submitted_at=NOW)
    for text in ("\u200b", "\u2060", "\ufeff", "\u00ad", "\u3164", "\u2800", " \u200d ", "\u202e", "\ufe0f", "\n"):
        fields = {"status": "rejected", "updated_by": "x", "metadata": {"reasons": [{"code": "other", "text": text}]}}
        assert_error(client.replace(f"/applications/{open_application.pk}/status", fields), 400, "E1017")
        reopened = {"status": "under_review", "updated_by": "x", "reason": text}
        assert_error(client.replace(f"/applications/{accepted.pk}/status", reopened), 400, "E1017")


@pytest.mark.parametrize("policy", ["open", "reviewed"])
def test_complete_application_cannot_be_rejected_as_incomplete(provider, settings, policy):
    settings.REVIEW_POLICY = policy
    application = ApplicationFactory(status="under_review", submitted_at=NOW)
    fields = {"status": "rejected", "updated_by": "x", "metadata": {"reasons": ["application_incomplete"]}}
    client, path = client_of(member_of(provider, "reviewer")), f"/applications/{application.pk}"
    body = assert_error(client.replace(f"{path}/status", fields), 400, "E1017")
    assert "application_incomplete" not in body["details"]["codes"]
    assert client.send(f"{path}/documents", {"names": ["Payslip"]}).status_code == 201
    assert client.replace(f"{path}/status", fields).json()["status"] == "rejected"


@pytest.mark.parametrize("policy", ["open", "reviewed"])
def test_lender_reader_cannot_read_a_decision_bundle(provider, settings, policy):
    settings.REVIEW_POLICY = policy
    application = ApplicationFactory(status="under_review", submitted_at=NOW)
    path, fields = f"/applications/{application.pk}", {"status": "rejected", "updated_by": "x", **BECAUSE}
    assert client_of(member_of(provider, "owner")).replace(f"{path}/status", fields).status_code == 200
    error = assert_error(client_of(member_of(provider, "reader")).read(f"{path}/decision-bundle"), 403, "E2010")
    assert error["message"] == "Only the applicant and the reviewers can download the decision bundle."
    for person in (member_of(provider, "reviewer"), provider.owner, application.consumer):
        assert client_of(person).read(f"{path}/decision-bundle").json()["record"]


class TestLenderWithoutContactData:
    @pytest.mark.parametrize("policy", ["reviewed", "four_eyes"])
    @pytest.mark.parametrize(("missing", "value"), [("name", ""), ("name", "\u200b\n"), ("address", " ")], ids=ascii)
    def test_decision_with_a_notice_requires_a_lender_name_and_address(
        self, provider, settings, policy, missing, value
    ):
        settings.REVIEW_POLICY = policy
        type(provider).objects.filter(pk=provider.pk).update(**{missing: value})
        application = ApplicationFactory(status="under_review", submitted_at=NOW)
        client, path = client_of(member_of(provider, "reviewer")), f"/applications/{application.pk}"
        for to in ("approved", "rejected", "pending_documents"):
            fields = {"status": to, "updated_by": "x", "metadata": {"reasons": ["no_credit_file"]}}
            body = assert_error(client.replace(f"{path}/status", fields), 400, "E3001")
            assert body["details"]["missing"] == [missing]
            assert ("on the page *Team* of the lender console" in body["message"]) is (missing == "address")
        ends = {"expires_at": (timezone.now() + timedelta(days=9)).isoformat()}
        offered = {"terms": {"amount_cents": 5}, "reasons": ["no_credit_file"], **ends}
        assert_error(client.send(f"{path}/counteroffers", offered), 400, "E3001")
        assert_error(client.send(f"{path}/documents", {"names": ["Payslip"]}), 400, "E3001")
        application.refresh_from_db()
        assert (application.status, application.proposals.count()) == ("under_review", 0)

    @pytest.mark.parametrize("owed", ["notice", "clock"])
    def test_lenders_address_cannot_be_removed_while_a_notice_is_due(self, provider, settings, owed):
        settings.REVIEW_POLICY = "reviewed"
        application = ApplicationFactory(submitted_at=NOW if owed == "notice" else None)
        owner, path = client_of(provider.owner), f"/applications/{application.pk}/status"
        if owed == "clock":
            sent = client_of(application.consumer).replace(path, {"status": "submitted", "updated_by": "x"})
            assert sent.status_code == 200
        else:
            Application.objects.filter(pk=application.pk).update(status="under_review")
            assert owner.replace(path, {"status": "rejected", "updated_by": "x", **BECAUSE}).status_code == 200
            Clock.stop(application.pk, Clock.TOLD, now=NOW)
        kept = {"name": "Acme", "address": "2 New Street"}
        for address in ("", " ", "\u200b"):
            assert owner.replace("/providers/700", {**kept, "address": address}).status_code == 400
        assert owner.replace("/providers/700", kept).json()["address"] == "2 New Street"
        Notice.objects.update(status="cancelled")
        Clock.objects.update(stopped_at=NOW, why="told")
        assert owner.replace("/providers/700", {"name": "Acme"}).json()["address"] == ""


class TestRoles:
    def test_new_owner_of_a_lender_can_create_offers(self, api, provider):
        reviewer = member_of(provider, "reviewer")
        client, path = client_of(reviewer), f"/providers/700/members/{reviewer.pk}"
        terms = {"provider_id": "700", "name": "Loan", "product_type": "personal_loan"}
        assert_error(client.send("/provider-offers", terms), 403, "E2011")
        assert_error(client.replace(path, {"role": "owner"}), 403, "E2011")
        changed = api.replace(path, {"role": "owner"})
        assert changed.json()["role"] == "owner"
        offer = client.send("/provider-offers", terms).json()["id"]
        other = OfferFactory(provider=provider)
        assert client.remove(f"/provider-offers/{other.pk}").status_code == 404  # It belongs to another owner.
        assert client.replace(path, {"role": "reader"}).json()["role"] == "reader"
        assert_error(client.remove(f"/provider-offers/{offer}"), 403, "E2011")
        assert_error(api.replace(f"/providers/700/members/{provider.owner_id}", {"role": "reader"}), 400, "E1001")
        assert_error(api.replace(path, {"role": "boss"}), 400, "E1001")
        shown = {member["user_id"]: member["role"] for member in api.read("/providers/700/members").json()["members"]}
        assert shown == {str(provider.owner_id): "owner", str(reviewer.pk): "reader"}

    @pytest.mark.parametrize(("named", "becomes"), [({}, "reviewer"), ({"role": "reader"}, "reader")])
    def test_invitation_determines_the_role_of_the_member(self, api, provider, stranger, stranger_api, named, becomes):
        api.send("/providers/700/members", {"username": stranger.username, **named})
        assert api.read("/providers/700/members").json()["invitations"][0]["role"] == becomes
        assert stranger_api.send("/providers/700/members/me").json()["role"] == becomes

    def test_lender_reader_cannot_change_scoring_models(self, provider):
        version = version_of(model_of(provider))
        client, path = client_of(member_of(provider, "reader")), f"/scoring/models/{version.model_id}/versions"
        assert client.read(path).status_code == 200
        for answer in (
            client.send(path, {"definition": version.definition}),
            client.send(f"{path}/1/publish", {"role": "challenger"}),
            client.send(f"{path}/1/retire"),
        ):
            assert_error(answer, 403, "E2010")
