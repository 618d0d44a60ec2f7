"""Test scorecard facts from identity, bank data, and applications."""

from datetime import timedelta

from django.utils import timezone

from config.core.credentials import FIRST_PARTY
from credit.core.facts import CATEGORIES, SOURCES, catalogue, category_of, gather, read_facts, shared
from credit.scoring import known_facts as facts
from identity.models import BankAccount, BankItem, KycVerification
from tests.factories import ApplicationFactory

NOW = timezone.now()
NAMES = {
    "identity.verified": "boolean", "identity.verified_days_ago": "number", "bank.linked": "boolean",
    "bank.accounts_balance_cents": "number", "account.age_days": "number", "applications.in_90_days": "number",
}  # fmt: skip

BANK = (
    "bank.accounts_balance_cents", "bank.income_monthly_cents", "bank.spending_monthly_cents", "bank.months_covered",
    "bank.lowest_balance_cents", "bank.overdrawn_days_90", "bank.as_of",
)  # fmt: skip


def _balance(user):
    return facts.bank_figures(user.pk, NOW, "USD").balance_cents


def _verification(user, attempt, status, *, days_ago=None):
    ended = None if days_ago is None else NOW - timedelta(days=days_ago)
    return KycVerification.objects.create(
        user=user, attempt=attempt, status=status, provider="sandbox", provider_reference=f"{user.pk}-{attempt}",
        provider_status=status, steps={}, expires_at=NOW, refreshed_at=NOW, completed_at=ended, created_at=NOW,
        updated_at=NOW,
    )  # fmt: skip


def _account(user, **columns):
    fields = {"type": "depository", "currency": "USD", "current_cents": 5_000, "from_provider": True, **columns}
    number = BankAccount.objects.count()
    return BankAccount.objects.create(
        user=user, account_id=f"account-{number}", name="Account", created_at=NOW, updated_at=NOW, **fields
    )


def _read(user):
    return gather(NAMES, user_id=user.pk, application_data=None, may_read=lambda _fact: True, now=NOW)


def test_each_fact_declares_its_scope():
    scopes = {name: fact.scope for name, fact in catalogue().items()}
    assert scopes == {
        "identity.verified": "identity:read",
        "identity.verified_days_ago": "identity:read",
        "identity.name_match": "identity:read",
        "bank.linked": "bankdata:read",
        **dict.fromkeys(BANK, "bankdata:read"),
        "account.age_days": FIRST_PARTY,  # No scope covers the age of an account.
        "applications.in_90_days": "applications:read",
        **dict.fromkeys((name for name in catalogue() if name.startswith("report.")), FIRST_PARTY),
        **dict.fromkeys(("person.open_applications", "person.days_since_rejection", "person.accounts"), FIRST_PARTY),
    }


def test_facts_of_a_new_account_have_empty_values(user):
    for age, days in ((timedelta(days=30, hours=23), 30), (timedelta(hours=3), 0)):
        user.date_joined = NOW - age
        user.save(update_fields=["date_joined"])
        assert facts.account_age_days(user.pk, NOW) == days
    assert _read(user) == {
        "scored_on": NOW.date().isoformat(), "identity.verified": False, "identity.verified_days_ago": None,
        "bank.linked": False, "bank.accounts_balance_cents": None, "account.age_days": 0, "applications.in_90_days": 0,
    }  # fmt: skip


def test_loading_a_fact_executes_one_sql_statement(user, django_assert_num_queries):
    for name in NAMES:
        with django_assert_num_queries(1):
            gather([name], user_id=user.pk, application_data=None, may_read=lambda _fact: True, now=NOW)


def test_every_fact_has_a_type_a_meaning_and_a_known_source():
    assert NAMES.items() <= {name: fact.type for name, fact in catalogue().items()}.items()
    assert list(catalogue()) == sorted(catalogue())
    for fact in catalogue().values():
        assert fact.type in {"number", "text", "boolean"}
        assert fact.meaning.endswith(".")
        assert fact.source in SOURCES
        assert (fact.source == "bank") == (fact.name in BANK)
        assert fact.unit is None or fact.type == "number"
        assert category_of(fact.name) in CATEGORIES


def test_identity_verified_fact_is_true_until_a_later_attempt_fails(user):
    _verification(user, 1, "failed", days_ago=20)
    _verification(user, 2, "verified", days_ago=10)
    _verification(user, 3, "requires_input")
    assert (facts.is_verified(user.pk, NOW), facts.verified_days_ago(user.pk, NOW)) == (True, 10)
    _verification(user, 4, "failed", days_ago=1)
    assert (facts.is_verified(user.pk, NOW), facts.verified_days_ago(user.pk, NOW)) == (False, None)


def test_linked_bank_fact_is_true_only_for_the_linking_account(user, stranger):
    BankItem.objects.create(
        user=user, provider="sandbox", item_id="1", access_token="secret", token_fingerprint="f", linked_at=NOW,
        updated_at=NOW,
    )  # fmt: skip
    assert facts.has_linked_bank(user.pk, NOW)
    assert not facts.has_linked_bank(stranger.pk, NOW)


def test_balance_fact_sums_the_users_own_bank_accounts_without_debts_and_claims(user, stranger):
    _account(user)
    _account(user, current_cents=-1_200)
    _account(stranger, current_cents=999)
    for other in ({"type": "credit"}, {"type": "loan"}, {"from_provider": False}):
        _account(user, current_cents=90_000, **other)
    assert _balance(user) == 3_800


def test_balance_fact_is_unknown_if_balances_cannot_be_added(user):
    _account(user)
    for unknown in ({"currency": "EUR"}, {"currency": None}, {"current_cents": None}):
        other = _account(user, **unknown)
        assert _balance(user) is None
        other.delete()
    assert _balance(user) == 5_000


def test_application_count_fact_includes_applications_submitted_in_the_last_90_days(user, stranger):
    for who, ago in ((user, 1), (user, 90), (user, 91), (stranger, 1)):
        ApplicationFactory(consumer=who, status="submitted", submitted_at=NOW - timedelta(days=ago))
    ApplicationFactory(consumer=user)
    ApplicationFactory(consumer=user, status="submitted", submitted_at=NOW)
    assert facts.applications_lately(user.pk, NOW) == 2


def test_count_of_applications_excludes_the_application_that_is_scored_again(user):
    for ago in (1, 2):
        application = ApplicationFactory(
            consumer=user, status="submitted", submitted_at=NOW - timedelta(days=ago), application_data={}
        )
    name = "applications.in_90_days"
    about = {"user_id": user.pk, "application_data": {}, "may_read": shared(()), "now": NOW}
    assert read_facts([name], **about)[name].value == 2
    assert read_facts([name], application=application, **about)[name].value == 1
