"""Test payment methods in documented and in persistent mode."""

import pytest

from payments.cards.models import PaymentMethod
from tests.api import assert_error
from tests.payments.card_support import process


def add(api, user, **changes):
    body = {"user_id": user.pk, "account_id": "tok_visa_1234", "processor_type": "card", **changes}
    return api.send("/payments/add", body, key=True)


@pytest.fixture
def persistent_mode(db, settings):
    settings.PAYMENT_METHODS = "persistent"


def test_new_payment_method_is_acknowledged_but_not_stored_in_documented_mode(api, user):
    body = add(api, user).json()
    assert (body["acknowledged"], body["persisted"]) == (True, False)
    assert api.read(f"/user/{user.pk}/payment-methods").json() == {"payment_methods": [], "total": 0}


def test_every_payment_method_id_is_acknowledged_in_documented_mode(api):
    for act in ("default", "toggle"):
        assert api.send(f"/payments/methods/anything-7/{act}").json() == {
            "id": "anything-7", "acknowledged": True, "persisted": False,
        }  # fmt: skip
        assert_error(api.send(f"/payments/methods/{'x' * 256}/{act}"), 400, "E1001")


def test_stored_payment_methods_are_masked_and_one_is_the_default(persistent_mode, api, user):
    first, second = add(api, user).json(), add(api, user, account_id="tok_mc_98765").json()
    shown = api.read(f"/user/{user.pk}/payment-methods").json()
    assert shown["total"] == 2
    assert {method["id"]: method["is_default"] for method in shown["payment_methods"]} == {
        first["id"]: True, second["id"]: False,
    }  # fmt: skip
    assert first["account_id"] == "…1234"
    assert "tok_visa" not in str(shown)
    assert api.send(f"/payments/methods/{second['id']}/default").json()["is_default"] is True
    assert str(PaymentMethod.objects.get(is_default=True).pk) == str(second["id"])


def test_inactive_payment_method_cannot_be_charged_or_made_the_default(persistent_mode, api, user):
    method = add(api, user).json()
    off = api.send(f"/payments/methods/{method['id']}/toggle").json()
    assert (off["is_active"], off["is_default"]) == (False, False)
    assert_error(process(api, user, payment_method_id=method["id"]), 400, "E1001")
    assert_error(api.send(f"/payments/methods/{method['id']}/default"), 400, "E1001")
    assert api.send(f"/payments/methods/{method['id']}/toggle").json()["is_active"] is True
    assert process(api, user, payment_method_id=method["id"]).status_code == 200


def test_payment_method_of_another_user_returns_404(persistent_mode, api, stranger_api, user, stranger):
    method = add(stranger_api, stranger).json()
    for act in ("default", "toggle"):
        assert_error(api.send(f"/payments/methods/{method['id']}/{act}"), 404, "E4001")
        assert_error(api.send(f"/payments/methods/unknown/{act}"), 404, "E4001")
    assert_error(process(api, user, payment_method_id=method["id"]), 400, "E1001")
