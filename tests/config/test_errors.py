"""Test that every error has one class, number, and slug, and is in the OpenAPI documents."""

import json
import re

import pytest
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError, InterfaceError, OperationalError
from django.http import Http404

from config.api.docs import document_bytes
from config.api.errors import as_api_error
from config.core.errors import ApiError

# Each error has a number, a slug, and a status. A listed code may not be implemented yet.
CATALOGUE = {
    "E1001": ("validation_error", 400), "E1002": ("malformed_json", 400), "E1003": ("invalid_amount", 400),
    "E1004": ("invalid_status", 400), "E1005": ("missing_parameter", 400), "E1006": ("invalid_pagination", 400),
    "E1007": ("payload_too_large", 413), "E1008": ("invalid_idempotency_key", 400), "E1009": ("https_required", 403),
    "E1010": ("idempotency_mismatch", 422), "E1011": ("offer_unavailable", 400), "E1012": ("card_data_refused", 400),
    "E1013": ("unsupported_media_type", 415), "E1014": ("not_acceptable", 406),
    "E1015": ("ambiguous_credentials", 400), "E1016": ("invalid_host", 400),
    "E1017": ("reasons_required", 400),
    "E1018": ("terms_required", 400), "E1019": ("terms_outside_offer", 400), "E1020": ("requirements_due", 400),
    "E1021": ("infected_file", 400), "E1022": ("purpose_missing", 400), "E1023": ("apr_above_cap", 400),
    "E2001": ("authentication_required", 401), "E2002": ("invalid_token", 401), "E2003": ("expired_token", 401),
    "E2004": ("user_mismatch", 401), "E2005": ("insufficient_scope", 403), "E2006": ("invalid_signature", 401),
    "E2007": ("signature_replayed", 401), "E2008": ("timestamp_out_of_range", 401),
    "E2009": ("key_expired_or_revoked", 401), "E2010": ("reviewer_required", 403), "E2011": ("provider_taken", 403),
    "E2012": ("second_factor_required", 403), "E2013": ("access_ended", 403),
    "E2014": ("log_in_too_old", 403),
    "E3001": ("invalid_application_transition", 400), "E3002": ("invalid_claim_transition", 400),
    "E3004": ("record_not_editable", 400), "E3006": ("too_many_attempts", 400),
    "E3007": ("signed_transaction_mismatch", 400), "E3008": ("payment_expired", 400),
    "E3009": ("broadcast_refused", 400), "E3010": ("request_in_progress", 409),
    "E3011": ("not_acceptable", 400), "E3012": ("terms_changed", 400),
    "E3013": ("counteroffer_open", 409), "E3014": ("invalid_version_transition", 400),
    "E3015": ("document_closed", 400), "E3016": ("storage_quota_exceeded", 400),
    "E3017": ("transfer_would_fail", 400), "E3018": ("precontract_required", 400), "E3019": ("withdrawal_over", 400),
    "E3020": ("not_correctable", 400), "E3021": ("erasure_not_possible", 400), "E3022": ("report_pending", 409),
    "E3023": ("report_not_possible", 400),
    "E4001": ("not_found", 404), "E4002": ("application_not_found", 404), "E4003": ("claim_not_found", 404),
    "E4004": ("offer_not_found", 404), "E4005": ("verification_not_found", 404), "E4006": ("wallet_not_found", 404),
    "E4013": ("score_not_found", 404), "E4014": ("account_not_found", 404), "E4015": ("report_not_found", 404),
    "E4007": ("staging_item_not_found", 404), "E4008": ("bank_item_not_found", 404),
    "E4009": ("webhook_endpoint_not_found", 404), "E4010": ("payment_not_found", 404),
    "E4011": ("scoring_model_not_found", 404),
    "E4012": ("provider_not_found", 404), "E4050": ("method_not_allowed", 405),
    "E5000": ("internal_error", 500), "E5001": ("card_declined", 502), "E5002": ("processor_unavailable", 502),
    "E5003": ("provider_unavailable", 502), "E5004": ("relink_required", 502),
    "E5005": ("report_vendor_error", 502), "E5030": ("unavailable", 503),
    "E6001": ("rate_limited", 429), "E7001": ("invalid_hash", 400), "E7002": ("log_unavailable", 503),
    "E7003": ("not_witnessed_yet", 503),
}  # fmt: skip


def test_every_error_class_is_in_the_error_catalog_under_its_code():
    registered = {code: (error.error, error.status) for code, error in ApiError.registry.items()}
    assert {code: CATALOGUE.get(code) for code in registered} == registered


def test_error_slugs_are_unique_and_codes_that_start_with_e40_have_status_404():
    # A response in a type that the caller does not accept, and an unknown approval, differ in their codes.
    slugs = [error.error for code, error in ApiError.registry.items() if code != "E3011"]
    assert len(slugs) == len(set(slugs))
    for code, error in ApiError.registry.items():
        assert error.code == code
        assert error.message.endswith("."), code
        assert (error.status == 404) == code.startswith("E40") or code == "E4050"
        assert not (error.stored and error.status in {401, 403, 405, 413, 415, 429, 500, 503}), code


def test_two_error_classes_cannot_have_the_same_code():
    with pytest.raises(TypeError, match="E1001 belongs to"):
        type("Impostor", (ApiError,), {"code": "E1001", "error": "x", "message": "x"})


UNHANDLED = [
    (Http404(), "E4001"), (OperationalError("secret DSN"), "E5030"), (InterfaceError("x"), "E5030"),
    (DatabaseError("secret"), "E5000"), (PermissionDenied("x"), "E5000"), (ValueError("secret"), "E5000"),
    (RecursionError(), "E5000"), (MemoryError(), "E5000"),
]  # fmt: skip


def test_unhandled_exception_returns_an_error_without_its_message():
    for exception, code in UNHANDLED:
        error = as_api_error(exception)
        assert error.code == code, (exception, code)
        assert "secret" not in json.dumps(error.body()), (exception, code)


def test_error_body_has_details_only_if_the_error_has_details():
    error = ApiError.registry["E1001"]
    assert set(error().body()) == {"error", "message", "code", "request_id", "doc_url"}
    shown = error("Because.", details=[{"field": "a", "message": "b"}]).body()
    assert (shown["message"], shown["details"]) == ("Because.", [{"field": "a", "message": "b"}])
    assert "WWW-Authenticate" in ApiError.registry["E2001"]().response().headers


@pytest.mark.django_db
def test_failing_view_returns_an_error_body_without_a_traceback(api, monkeypatch):
    def crash(*_args, **_options):
        raise RuntimeError("the password is hunter2")

    monkeypatch.setattr("credit.api.applications.views._load", crash)
    response = api.read("/applications/x")
    assert response.status_code == 500
    assert response.json()["code"] == "E5000"
    assert b"hunter2" not in response.content
    assert response.json()["request_id"] == response.headers["X-Request-Id"]


# An announced body that did not arrive is malformed JSON, too, with a different status.
NEVER_ARRIVED = {("malformed_json", 408)}
# Returned for paths, methods or states that belong to no operation.
OUTSIDE_EVERY_OPERATION = {"E4050"}


def test_documentation_lists_exactly_the_error_classes():
    documented = {}
    for urlconf in ("config.urls", "ledger.urls"):
        for operations in json.loads(document_bytes(urlconf))["paths"].values():
            for operation in operations.values():
                for status, answer in operation["responses"].items():
                    for code, slug in re.findall(r"(E\d+) (\w+)", answer["description"]):
                        documented.setdefault(code, set()).add((slug, int(status)))
    for code, meanings in documented.items():
        assert meanings - NEVER_ARRIVED == {CATALOGUE[code]}, code
    assert set(ApiError.registry) - set(documented) <= OUTSIDE_EVERY_OPERATION
    assert set(documented) <= set(ApiError.registry)
