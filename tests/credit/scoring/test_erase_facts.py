"""`manage.py erase_facts`: what scores were computed from is forgotten, the scores are not."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from credit.models import Score, ScoreFacts
from credit.scoring.evaluator import evaluate
from credit.scoring.scores import keep
from tests.credit.scoring.cards import GOOD
from tests.credit.scoring.making import make_model, make_version

pytestmark = pytest.mark.django_db


def erase(user_id):
    out = StringIO()
    call_command("erase_facts", str(user_id), "--json", stdout=out)
    return json.loads(out.getvalue().splitlines()[-1])


@pytest.fixture
def scores(user, stranger):
    """Two scores of a person and one of another."""
    version = make_version(make_model(), role="champion")
    found = evaluate(version.card, GOOD)
    return [
        keep(version, GOOD, found, purpose=Score.SHADOW, user_id=who.pk, now=timezone.now())
        for who in (user, user, stranger)
    ]


def test_a_persons_facts_are_erased_and_the_scores_stay(user, scores):
    assert erase(user.pk) == {"user_id": str(user.pk), "facts": 2, "applicants": 0, "confirmations": 0}
    assert [row.score for row in ScoreFacts.objects.all()] == [scores[2]]
    kept = Score.objects.get(pk=scores[0].pk)
    assert (kept.total, kept.facts_sha256) == (scores[0].total, scores[0].facts_sha256)
    assert Score.objects.count() == 3


def test_erase_facts_is_idempotent(user, scores):
    erase(user.pk)
    assert erase(user.pk) == {"user_id": str(user.pk), "facts": 0, "applicants": 0, "confirmations": 0}


@pytest.mark.parametrize("user_id", ["0", "x", "9" * 19, "9" * 40, ""])
def test_an_account_that_is_not_there_is_named(scores, user_id):
    with pytest.raises(CommandError, match=r"Account .* not found"):
        erase(user_id)
    assert ScoreFacts.objects.count() == 3
