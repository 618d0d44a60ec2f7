"""The processing fee (specification section 8). The rate depends on the whole amount. All values are integers."""

BASIS_POINTS = 10_000
# Limits are in cents, and rates in basis points. The first limit is exclusive, and the second limit is inclusive.
_SMALL_BELOW_CENTS, _SMALL_BPS = 1_000_000, 150
_MIDDLE_UP_TO_CENTS, _MIDDLE_BPS = 10_000_000, 125
_LARGE_BPS = 100


def fee_bps(amount_cents: int) -> int:
    if amount_cents < _SMALL_BELOW_CENTS:
        return _SMALL_BPS
    return _MIDDLE_BPS if amount_cents <= _MIDDLE_UP_TO_CENTS else _LARGE_BPS


def fee_cents(amount_cents: int) -> int:
    """Return the fee in cents, with half cents rounded up. The tier's rate applies to the whole amount."""
    return (amount_cents * fee_bps(amount_cents) + BASIS_POINTS // 2) // BASIS_POINTS


def quote_fee(amount_cents: int) -> dict[str, float]:
    """Return the amount, fee, and net amount in cents, and the fee in percent."""
    fee = fee_cents(amount_cents)
    return {
        "amount_cents": amount_cents,
        "fee_amount_cents": fee,
        "fee_percentage": fee_bps(amount_cents) / 100,
        "net_amount_cents": amount_cents - fee,
    }
