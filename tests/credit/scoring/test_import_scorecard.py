"""Test that `import_scorecard` creates a draft from an optbinning table or a JSON definition."""

import csv
import hashlib
import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from config.core.json_text import canonical_json
from credit.models.scoring import ModelVersion, ScoringModel
from credit.scoring import pmml
from credit.scoring.evaluator import evaluate
from tests.credit.scoring.cards import definition
from tests.factories import ProviderFactory, UserFactory

pytestmark = pytest.mark.django_db
GERMAN = Path(__file__).parent / "german"
NUMBERS = ("duration_in_month", "credit_amount", "installment_rate_in_percentage_of_disposable_income")
OWN = definition(knockouts=[], inputs=definition()["inputs"][:3])


@pytest.fixture
def model():
    maker = UserFactory(username="maker")
    return ScoringModel.objects.create(
        provider=ProviderFactory(), name="Consumer loans", created_by=maker, created_at=timezone.now()
    )


@pytest.fixture
def run(model, tmp_path):
    """Run the command on some content; return the JSON object of its last line."""

    def run_on(content, *options, user="maker"):
        file = content if isinstance(content, Path) else tmp_path / "card"
        if file is not content:
            file.write_bytes(content)
        out = io.StringIO()
        call_command(
            "import_scorecard", str(file), "--model", str(model.pk), "--user", user, "--json", *options, stdout=out
        )
        return json.loads(out.getvalue().splitlines()[-1])

    return run_on


def test_json_scorecard_definition_is_imported_unchanged_as_the_next_draft(run, model):
    written = json.dumps(OWN, indent=1).encode()
    digest = hashlib.sha256(canonical_json(OWN)).hexdigest()
    assert [run(written, "--note", "from the other house"), run(written)] == [
        {
            "model": model.pk, "version": number, "definition_sha256": digest, "characteristics": 3,
            "total_off_by_at_most": "0",
        }
        for number in (1, 2)
    ]  # fmt: skip
    first, second = ModelVersion.objects.filter(model=model)
    assert (first.definition, first.status, first.role, first.note) == (OWN, "draft", "", "from the other house")
    assert (first.made_by.username, first.published_by, second.number) == ("maker", None, 2)


def test_scorecard_import_without_a_user_is_attributed_to_the_lenders_owner(model, tmp_path):
    file = tmp_path / "card"
    file.write_text(json.dumps(OWN))
    call_command("import_scorecard", str(file), "--model", str(model.pk), stdout=io.StringIO())
    model_version = ModelVersion.objects.get()
    assert model_version.made_by == model.provider.owner != model.created_by


def test_scorecard_import_options_set_outcomes_fact_names_and_reasons(run):
    document = table(*(row.replace("income", "x") for row in NUMBER))
    options = ("--outcome", "refer=20", "--outcome", "approve=50", "--from", "x=application_data.income")
    run(document, *options, "--reason", "x=income_insufficient")
    kept = ModelVersion.objects.get().definition
    assert kept["outcomes"] == [
        {"outcome": "approve", "from": 50}, {"outcome": "refer", "from": 20}, {"outcome": "decline"},
    ]  # fmt: skip
    assert kept["inputs"][0]["from"] == "application_data.income"
    assert kept["characteristics"][0]["reason"] == "income_insufficient"
    run(document, *options, "--reason", "x=other:What you earn")
    assert ModelVersion.objects.last().definition["characteristics"][0]["reason"] == {
        "code": "other",
        "text": "What you earn",
    }


@pytest.mark.parametrize("style", ["detailed", "summary"])
def test_imported_german_credit_scorecard_equals_optbinning_for_every_row(run, style):
    """The data's 1,000 rows, and 200 with values at a bound, missing values, and unlisted values."""
    done = run(GERMAN / f"{style}.csv", "--outcome", "approve=520", "--outcome", "refer=480")
    assert (done["characteristics"], done["total_off_by_at_most"]) == (12, "6.0")
    card = ModelVersion.objects.get().card
    for rows, number in (("rows", 1000), ("edges", 200)):
        scores, totals = [], []
        with (GERMAN / f"{rows}.csv").open(newline="") as file:
            for person in csv.DictReader(file):
                scores.append(int(person.pop("score")))
                facts = {
                    f"application_data.{name}": float(value) if name in NUMBERS else value
                    for name, value in person.items()
                    if value
                }
                totals.append(evaluate(card, facts).total)
        assert totals == scores
        assert len(scores) == number
        assert len(set(scores)) > 80


def test_totals_of_an_imported_rounded_scorecard_are_within_the_stated_error(run):
    done = run(GERMAN / "detailed.csv", "--outcome", "approve=520", "--round", "floor")
    assert done["total_off_by_at_most"] == "12"
    with (GERMAN / "detailed.csv").open(newline="") as file:
        points = {(row["Variable"], row["Bin"]): float(row["Points"]) for row in csv.DictReader(file)}
    for characteristic in ModelVersion.objects.get().definition["characteristics"]:
        floats = [
            value for (name, bin_), value in points.items() if name == characteristic["name"] and bin_ != "Special"
        ]
        # The table has the missing bin last; a card also has an open bin for texts.
        own = [bin_["points"] for bin_ in (*characteristic["bins"][1 : len(floats)], characteristic["bins"][0])]
        assert all(0 <= point - whole < 1 for point, whole in zip(floats, own, strict=True))


def table(*rows, header="Variable,Bin,Points"):
    return "\r\n".join([header, *rows, ""]).encode()


NUMBER = ('income,"(-inf, 10.00)",1.5', 'income,"[10.00, inf)",2.5', "income,Special,0", "income,Missing,-0.5")


def test_scorecard_import_rounds_points_by_the_round_option(run):
    for rounding, points in {
        "half-even": [0, 2, 2], "half-up": [-1, 2, 3], "floor": [-1, 1, 2], "ceiling": [0, 2, 3], "down": [0, 1, 2],
    }.items():  # fmt: skip
        run(table(*NUMBER), "--outcome", "approve=2", "--round", rounding, "--base-points", "-7")
        kept = ModelVersion.objects.latest("number").definition
        assert [item["points"] for item in kept["characteristics"][0]["bins"]] == points, rounding
        assert (kept["base_points"], kept["characteristics"][0]["baseline"]) == (-7, max(points[1:]))


def test_scorecard_import_parses_category_lists_of_older_tables(run):
    rows = (
        """housing,"['own' ""it's"" 'a\\\\b' '\\xe9']",1""", 'housing,"[\'rent\',\n \'x\']",2', "housing,Missing,3",
    )  # fmt: skip
    run(table(*rows), "--outcome", "approve=2")
    bins = ModelVersion.objects.get().definition["characteristics"][0]["bins"]
    assert [item.get("in") for item in bins] == [None, ["own", "it's", "a\\b", "é"], ["rent", "x"], None]
    assert [item["points"] for item in bins] == [3, 1, 2, 3]


TABLES = {
    "another table": (b"a,b\r\n1,2\r\n", "the column Variable, Bin, Points"),
    "an empty file": (b"", "lacks the column"),
    "no rows": (table(), "/definition/inputs"), "zeros": (bytes(100), "lacks the column"),
    "another encoding": ("Variable,Bin,Points\r\né".encode("latin-1"), "must be CSV in UTF-8"),
    "a row that is short": (table("income,Missing"), "as many columns as"),
    "a row that is long": (table("income,Missing,1,2"), "as many columns as"),
    "a gap": (table(NUMBER[0], 'income,"[10.01, inf)",1', NUMBER[3]), "does not begin at 10.00"),
    "no beginning": (table(*NUMBER[1:]), "does not begin at -inf"),
    "no end": (table(NUMBER[0], NUMBER[3]), "ends at 10.00"),
    "more behind the end": (table(*NUMBER[:2], 'income,"[10.00, inf)",1', NUMBER[3]), "does not begin at inf"),
    "nothing missing": (table(*NUMBER[:2]), "must have a bin"), "only missing": (table(NUMBER[3]), "must have a bin"),
    "numbers and lists": (table(NUMBER[0], "income,['own'],1", NUMBER[3]), "does not begin at 10.00"),
    "lists and numbers": (table("income,['own'],1", *NUMBER), "must be a range or a complete list"),
    "a shortened list": (table("income,['own' ... 'rent'],1", NUMBER[3]), "can't be parsed"),
    "a list that is shorter than it says": (table("income,\"['own']\nLength: 2\",1", NUMBER[3]), "complete list"),
    "a list of numbers": (table("income,[1 2],1", NUMBER[3]), "can't be parsed"),
    "an empty list": (table("income,[],1", NUMBER[3]), "must be a range"),
    "a broken text": (table(r"income,['\x'],1", NUMBER[3]), "must be a string"),
    "PMML": (pmml.write(OWN, name="x"), "lacks the column Variable"),
    "no points": (table('income,"(-inf, inf)",', NUMBER[3]), "must be a number"),
    "no numbers": (table('income,"(-inf, inf)",nan', NUMBER[3]), "must be a number"),
    "number of points": (table('income,"(-inf, inf)",1e999', NUMBER[3]), "number of points"),
    "more points than a card has": (table('income,"(-inf, inf)",1e9', NUMBER[3]), "/points: Must be at most"),
    "special codes": (table(*(f"{row},1" for row in NUMBER), header="Variable,Bin,Points,Count"), "special codes"),
    "bounds of many digits": (table('income,"(-inf, 1.123456789012)",1', NUMBER[3]), "more than 10 digits"),
    "a prohibited ground": (table(*(row.replace("income", "marital_status") for row in NUMBER)), "1002.2(z)"),
    "a name that is longer than a path": (table(*(row.replace("income", "i" * 61) for row in NUMBER)), "Unknown fact"),
    "many quotes": (table("income,\"['" + "\\'" * 60_000 + '",1', NUMBER[3]), "must be a range"),
    "a long field": (table("income," + "a" * 200_000 + ",1", NUMBER[3]), "must be CSV"),
    "a large file": (b"a" * 5_000_000, "larger than"),
}  # fmt: skip


def rejection(run, *arguments):
    """Return the error of an import, which creates no version."""
    with pytest.raises((CommandError, SystemExit)) as caught:
        run(*arguments)
    assert not ModelVersion.objects.exists()
    return str(caught.value)


@pytest.mark.timeout(30)
def test_scorecard_import_of_a_table_without_an_exact_representation_is_rejected(run):
    errors = {case: rejection(run, content, "--outcome", "approve=2") for case, (content, _) in TABLES.items()}
    assert {case: errors[case] for case, (_, why) in TABLES.items() if why not in errors[case]} == {}


def test_scorecard_import_with_an_invalid_option_is_rejected(run):
    for options in (
        ("--outcome", "decline=5"), ("--outcome", "approve"), ("--outcome", "approve=much"),
        ("--outcome", "approve=9999999999"), ("--from", "income"), ("--from", "=a"),
        ("--reason", "income=income_insuficient"), ("--reason", "income=other:"), ("--round", "up"),
        ("--note", "\udc80"), ("--reason", "income=other:\udc80"), ("--base-points", "1.5"), ("--base-points", "--1"),
        ("--base-points", "²"),
    ):  # fmt: skip
        assert rejection(run, table(*NUMBER), "--outcome", "approve=2", *options), options
    unknown = rejection(run, table(*NUMBER), "--outcome", "approve=2", "--reason", "incom=income_insufficient")
    assert "has no variable 'incom'; it has income" in unknown
    assert "has no outcomes" in rejection(run, table(*NUMBER))


def test_scorecard_import_of_a_json_definition_allows_only_the_note_option(run):
    for options in (
        ("--round", "floor"), ("--base-points", "0"), ("--outcome", "approve=2"), ("--from", "x=application_data.a"),
        ("--reason", "x=income_insufficient"),
    ):  # fmt: skip
        assert "allows no other option than --note" in rejection(run, json.dumps(OWN).encode(), *options)


def test_scorecard_import_of_json_that_is_not_a_definition_is_rejected(run):
    for content, why in (
        (b"{", "not"), (b'{"inputs": 1, "inputs": 2}', "twice"), (b'{"a": NaN}', "NaN"), (b'{"a": "\xe9"}', "UTF-8"),
        (b'{"a":' * 100 + b"1" + b"}" * 100, "levels of nesting"), (b"{}", "/definition"),
        (b'{"a": [' + b"0," * 60_000 + b"0]}", "fields"), (b"{" + b" " * 5_000_000 + b"}", "larger than"),
    ):  # fmt: skip
        assert why in rejection(run, content), content[:50]


def test_scorecard_import_reports_a_missing_file_model_or_account_in_one_sentence(run, tmp_path):
    assert "Cannot read" in rejection(run, tmp_path / "nowhere")
    assert "Cannot read" in rejection(run, tmp_path)
    with pytest.raises(CommandError, match="Account nobody not found"):
        run(b"", user="nobody")
    ScoringModel.objects.all().delete()
    with pytest.raises(CommandError, match=r"Scoring model .* not found"):
        run(b"")


def test_scorecard_import_reports_all_errors_of_a_definition(run):
    both = table(*(row.replace("income", name) for name in ("sex", "race") for row in NUMBER))
    assert rejection(run, both, "--outcome", "approve=2").count("\n") == 1
