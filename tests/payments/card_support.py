"""What the tests of card payments share."""

from payments.cards.models import Payment


def order(user, **changes):
    """A body of POST /payments/process."""
    body = {"user_id": user.pk, "amount_cents": 10_000, "payment_method_id": "pm_sandbox_ok", **changes}
    return {name: value for name, value in body.items() if value is not ...}


def process(api, user, *, key=None, **changes):
    """Pay."""
    return api.send("/payments/process", order(user, **changes), key=key)


def only_payment():
    """The one payment that there is."""
    return Payment.objects.get()
