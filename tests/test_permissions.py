"""Test that every operation rejects callers without its scope, anonymous callers, and other methods."""

import json
import re

import pytest
from django.contrib.auth.models import Group

from identity.access.scopes import SCOPES
from tests.api import ApiClient
from tests.identity.support import issue
from tests.test_openapi import COMMITTED

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_rate_limits")]

PUBLIC, OWN = "public", "the account itself"
# These operations are public: vendors sign their events, and a log-in contains its own credential.
PUBLIC_OPERATIONS = {
    "GET /.well-known/jwks.json", "GET /.well-known/oauth-authorization-server", "GET /.well-known/record-keys.json",
    "GET /.well-known/ucp", "POST /v1/auth/refresh", "POST /v1/auth/revoke", "POST /v1/auth/token", "GET /v1/health",
    "POST /v1/kyc/provider-events", "POST /v1/oauth/revoke", "POST /v1/oauth/token", "GET /v1/openapi.json",
    "GET /v1/provider-offers/1/automation", "POST /v1/payments/processor-events", "GET /v1/scoring/definition-schema",
    "GET /v1/scoring/verifier",
}  # fmt: skip
# No scope permits changes in these areas, and these operations have no scope.
OWN_AREAS = {"api-keys", "claims", "invitations", "payments", "providers", "staging", "user", "wallet"}
OWN_BESIDES = {
    "GET /v1/notice-consent", "PUT /v1/notice-consent", "DELETE /v1/notice-consent",
    "GET /v1/applications/1/hold", "PUT /v1/applications/1/hold",
    "GET /v1/applications/1/decision-bundle", "POST /v1/applications/1/documents",
    "GET /v1/applications/1/facts", "POST /v1/applications/1/confirmations", "POST /v1/applications/1/score",
    "GET /v1/applications/1/reports", "POST /v1/applications/1/reports", "GET /v1/applications/1/reports/1",
    "POST /v1/applications/1/counteroffers", "DELETE /v1/applications/1/counteroffers/1",
    "POST /v1/applications/1/notices/1/deliveries",
    "DELETE /v1/applications/1/pending-decision", "POST /v1/auth/keys/1/collect", "POST /v1/sandbox/clock",
    "GET /v1/oauth/clients", "POST /v1/oauth/clients", "GET /v1/oauth/clients/1",
    "PATCH /v1/oauth/clients/1", "DELETE /v1/oauth/clients/1", "POST /v1/oauth/clients/1/rotate-secret",
    "GET /v1/applications/1/explanation", "PUT /v1/applications/1/corrections/1", "GET /v1/account/consents",
    "DELETE /v1/account/consents/1", "POST /v1/account/exports", "GET /v1/account/exports/1",
    "GET /v1/account/exports/1/file", "GET /v1/requests", "GET /v1/account/erasure", "POST /v1/account/erasure",
    "DELETE /v1/account/erasure",
}  # fmt: skip

# Operations that also require `score:read`, because they return scores.
SCORES_BESIDES = {"applications:read": ["GET /v1/providers/1/decisions"]}


def operations():
    """Yield (method, path, access) of each operation in the committed document."""
    for path, methods in json.loads(COMMITTED.read_text())["paths"].items():
        for method, operation in methods.items():
            schemes = {name: scopes for item in operation["security"] for name, scopes in item.items()}
            access = schemes["oauth2"][0] if "oauth2" in schemes else OWN if schemes else PUBLIC
            yield method.upper(), re.sub(r"\{\w+\}", "1", path), access


def refusals(client, asking):
    """Call each selected operation; return the operations by (status, error code)."""
    result = {}
    for method, address, access in operations():
        if asking(access):
            answer = client.call(method, address, content_type="application/json")
            code = re.search(r"E\d{4}", answer.content.decode())
            result.setdefault((answer.status_code, code and code[0]), []).append(f"{method} {address}")
    return result


def key_of(user, *scopes):
    return ApiClient(api_key=issue(user, scopes=list(scopes)).key)


def test_private_operations_require_a_credential(anonymous):
    assert set(refusals(anonymous, lambda access: access != PUBLIC)) == {(401, "E2001")}


def test_lists_of_public_operations_and_operations_without_a_scope_are_complete():
    stands = {f"{method} {address}": access for method, address, access in operations()}
    assert {stand for stand, access in stands.items() if access == PUBLIC} == PUBLIC_OPERATIONS
    in_areas = {stand for stand in stands if stand.split("/")[2] in OWN_AREAS}
    assert {stand for stand, access in stands.items() if access == OWN} - in_areas == {*OWN_BESIDES, "GET /v1/auth/me"}
    links = {"POST /v1/providers/1/application-links"}  # The apps of partners create managed accounts.
    changing = {in_area for in_area in in_areas - PUBLIC_OPERATIONS - links if not in_area.startswith("GET ")}
    assert {stands[item] for item in changing} == {OWN}


def test_operations_that_require_an_unrestricted_credential_are_covered_by_no_scope(user):
    refused_operations = refusals(key_of(user, *SCOPES), lambda access: access == OWN)
    assert refused_operations.pop((200, None)) == ["GET /v1/auth/me"]  # Any credential can get its own account.
    assert set(refused_operations) == {(403, "E2005")}


@pytest.mark.parametrize("scope", SCOPES)
def test_an_operation_requires_exactly_its_scope(user, scope):
    user.groups.add(Group.objects.get(name="Partner"))  # `accounts:write` also requires the permission of the group
    others = [item for item in SCOPES if item != scope]
    assert set(refusals(key_of(user, *others), lambda access: access == scope)) == {(403, "E2005")}
    refused_operations = refusals(key_of(user, scope), lambda access: access == scope)
    assert (401, "E2001") not in refused_operations
    assert refused_operations.get((403, "E2005"), []) == SCORES_BESIDES.get(scope, [])


def test_api_path_rejects_methods_without_an_operation_with_405(api):
    taken = {}
    for method, address, _access in operations():
        taken.setdefault(address, {"OPTIONS"}).update({method, "HEAD"} if method == "GET" else {method})
    for address, methods in taken.items():
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "PROPFIND"} - methods:
            answer = api.call(method, address, {})
            assert (answer.status_code, "E4050" in answer.content.decode()) == (405, True), (method, address)
            assert set(answer.headers["Allow"].split(", ")) == methods, (method, address)
