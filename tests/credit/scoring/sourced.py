"""A scorecard that prefers bank facts to the applicant's claims, and a generator of random facts for the scorecard."""

from datetime import timedelta

from django.utils import timezone

from identity.bank.models import BOOKINGS_DAYS, BankAccount, BankItem, BankTransaction

INCOME, SPENDING = "bank.income_monthly_cents", "bank.spending_monthly_cents"
CLAIMED = "application_data.monthly_income_cents"


def _bins(*below, points):
    *lower, last = points
    return [
        {"missing": True, "points": 0},
        *({"below": bound, "points": number} for bound, number in zip(below, lower, strict=True)),
        {"points": last},
    ]


def card(**changes):
    """Return a card of three characteristics: bank data or a claim, bank data only, and a claim only."""
    inputs = [
        {"name": "income", "first_of": [INCOME, CLAIMED], "type": "number"},
        {"name": "use of income", "ratio": [SPENDING, INCOME]},
        {"name": "debts", "from": "application_data.monthly_debt_cents", "type": "number"},
    ]
    return {
        "inputs": inputs,
        "base_points": 500,
        "characteristics": [
            {"name": "income", "input": "income", "reason": "income_insufficient", "baseline": 120,
             "bins": _bins(150_000, 300_000, points=(20, 70, 120))},
            {"name": "use of income", "input": "use of income", "reason": "obligations_excessive", "baseline": 80,
             "bins": _bins("0.5", "0.9", points=(80, 40, 10))},
            {"name": "debts", "input": "debts", "reason": "obligations_excessive", "baseline": 30,
             "bins": _bins(50_000, points=(30, 5))},
        ],
        "outcomes": [{"outcome": "approve", "from": 640}, {"outcome": "refer", "from": 560}, {"outcome": "decline"}],
        **changes,
    }  # fmt: skip


def facts(chance):
    """Return random facts for the card, some of them missing."""
    amounts = (None, 0, 149_999, 150_000, 299_999, 300_000, 700_000)
    names = (INCOME, SPENDING, CLAIMED, "application_data.monthly_debt_cents")
    return {name: chance.choice(amounts) for name in names}


def bank(user, *, paid_in, paid_out):
    """Link a bank with complete transactions: these amounts paid in and out on the first of each month."""
    now = timezone.now()
    stamps = {"created_at": now, "updated_at": now}
    since = now.date() - timedelta(days=BOOKINGS_DAYS)
    item = f"item-{user.pk}"
    BankItem.objects.create(
        user=user, provider="sandbox", item_id=item, access_token="x", token_fingerprint=item, linked_at=now,
        transactions_since=since, updated_at=now,
    )  # fmt: skip
    BankAccount.objects.create(
        user=user, account_id="a", item_id=item, name="Checking", type="depository", currency="USD",
        current_cents=500_000, balance_on=now.date(), from_provider=True, **stamps,
    )  # fmt: skip
    firsts = [day for ago in range(BOOKINGS_DAYS, 0, -1) if (day := now.date() - timedelta(days=ago)).day == 1]
    BankTransaction.objects.bulk_create(
        BankTransaction(
            user=user, transaction_id=f"{day}/{cents}", account_id="a", item_id=item, amount_cents=cents,
            currency="USD", date=day, name="x", from_provider=True, **stamps,
        )
        for day in firsts
        for cents in (-paid_in, paid_out)
    )  # fmt: skip
