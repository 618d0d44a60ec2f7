"""`name_match`: the provider's word on a person's name."""

import pytest

from identity.providers.base import NameMatch
from identity.providers.plaid import name_match_of
from tests.identity.banking import play, read, row_of, start

DOCUMENTS = [
    ({"kyc_check": {"name": {"summary": "match"}}}, "match"),
    ({"kyc_check": {"name": {"summary": "partial_match"}}}, "partial"),
    ({"kyc_check": {"name": {"summary": "no_match"}}}, "no_match"),
    ({"kyc_check": {"name": {"summary": "no_data"}}}, "unknown"),
    ({"kyc_check": {"name": {"summary": ["match"]}}}, "unknown"), ({"kyc_check": {"name": "match"}}, "unknown"),
    ({"kyc_check": None}, "unknown"), ({}, "unknown"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "word"), DOCUMENTS)
def test_plaids_words_are_read_and_others_tell_nothing(document, word):
    assert name_match_of(document) == NameMatch(word)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("outcome", "word"), [("pass", "match"), ("review", "partial"), ("fail", "no_match"), ("", "unknown")]
)
def test_the_sandbox_plays_it_and_it_is_kept(api, outcome, word):
    shown = start(api)
    if outcome:
        play(shown, outcome)
    assert read(api, shown["verification_id"]).json()["name_match"] == row_of(shown).name_match == word
