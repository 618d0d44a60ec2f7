"""The two-letter codes of US states, the District of Columbia and the territories."""

_CODES = (
    "AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA "
    "RI SC SD TN TX UT VT VA WA WV WI WY DC AS GU MP PR VI"
)
US_STATES = frozenset(_CODES.split())
