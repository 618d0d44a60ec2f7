"""Share helpers between the tests of card payments."""

from payments.cards.models import Payment


def order(user, **changes):
    body = {"user_id": user.pk, "amount_cents": 10_000, "payment_method_id": "pm_sandbox_ok", **changes}
    return {name: value for name, value in body.items() if value is not ...}


def process(api, user, *, key=None, **changes):
    return api.send("/payments/process", order(user, **changes), key=key)


def only_payment():
    return Payment.objects.get()
