"""How many decimal places a currency's minor unit has (ISO 4217)."""

_WITHOUT_MINOR_UNIT = frozenset(
    {
        "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF",
        "XPF",
    }
)  # fmt: skip
_EXPONENTS = {"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3, "CLF": 4, "UYW": 4}


def exponent_of(currency: str | None) -> int:
    """Return the decimal places of a currency's minor unit: 2 for most, and for codes that ISO 4217 does not list."""
    code = (currency or "").upper()
    return 0 if code in _WITHOUT_MINOR_UNIT else _EXPONENTS.get(code, 2)
