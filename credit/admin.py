"""Register the admin classes of `credit.console`. Django loads the admin of an app from this module."""

from credit.console import (
    applications,
    holds,
    notices,
    offers,
    people,
    proposal_list,
    records,
    scoring,
    team,
    withdrawals,
)  # fmt: skip

__all__ = [
    "applications", "holds", "notices", "offers", "people", "proposal_list", "records", "scoring", "team",
    "withdrawals",
]  # fmt: skip
