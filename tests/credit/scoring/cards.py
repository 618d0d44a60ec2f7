"""Define scorecards for tests."""

import copy

DEFINITION = {
    "inputs": [
        {"name": "income", "from": "application_data.monthly_income_cents", "type": "number"},
        {
            "name": "debt_to_income",
            "ratio": ["application_data.monthly_debt_cents", "application_data.monthly_income_cents"],
        },
        {"name": "housing", "from": "application_data.housing", "type": "text", "mutable": False},
        {"name": "identity_verified", "from": "identity.verified", "type": "boolean"},
    ],
    "knockouts": [
        {"input": "identity_verified", "equals": False, "outcome": "refer", "reason": "identity_unverifiable"}
    ],
    "base_points": 500,
    "characteristics": [
        {
            "name": "income",
            "input": "income",
            "reason": "income_insufficient",
            "baseline": 120,
            "bins": [
                {"missing": True, "points": 0}, {"below": 150_000, "points": 20}, {"below": 300_000, "points": 70},
                {"points": 120},
            ],
        },
        {
            "name": "debt to income",
            "input": "debt_to_income",
            "reason": "obligations_excessive",
            "baseline": 80,
            "bins": [
                {"missing": True, "points": 10}, {"below": "0.2", "points": 80}, {"below": "0.4", "points": 55},
                {"points": 20},
            ],
        },
        {
            "name": "housing",
            "input": "housing",
            "reason": "residence_short",
            "baseline": 40,
            "bins": [
                {"missing": True, "points": 15}, {"in": ["own"], "points": 40},
                {"in": ["rent", "family"], "points": 25}, {"points": 10},
            ],
        },
    ],
    "outcomes": [{"outcome": "approve", "from": 640}, {"outcome": "refer", "from": 560}, {"outcome": "decline"}],
    "segments": [{"name": "prime", "from": 700}],
    "range": [0, 900],
}  # fmt: skip

# The card approves a person with the first facts, and declines a person with the second facts.
GOOD = {
    "application_data.monthly_income_cents": 320_000, "application_data.monthly_debt_cents": 32_000,
    "application_data.housing": "own", "identity.verified": True,
}  # fmt: skip
POOR = {
    "application_data.monthly_income_cents": 140_000, "application_data.monthly_debt_cents": 70_000,
    "application_data.housing": "hotel", "identity.verified": True,
}  # fmt: skip


def definition(**changes):
    """Return a copy of the definition with changed fields."""
    return {**copy.deepcopy(DEFINITION), **changes}
