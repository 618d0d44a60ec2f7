"""Run random steps of a state machine, and compare the results with its transition table."""

from itertools import pairwise

from django.db import transaction

from config.webhooks.models import Event


def facts(record, history):
    """Return all stored data about a record: its row, its history, and the number of all events."""
    row = type(record)._base_manager.filter(pk=record.pk).values().get()
    return row, list(history(record).values()), Event.objects.count()


def walk(record, steps, *, may, move, refusals, history):
    """Request each step in turn and compare the stored result with `may(status, step)`.

    `move(record, step)` requests a step, or raises one of `refusals`; `history(record)` returns the record's rows. A
    step is its target status, or a tuple that starts with it. Returns the entered statuses.
    """
    entered = []
    for step in steps:
        to = step if isinstance(step, str) else step[0]
        status, before = record.status, facts(record, history)
        try:
            with transaction.atomic():
                move(record, step)
        except refusals:
            assert not may(status, step), f"{status} → {step} was refused"
            assert facts(record, history) == before, f"{status} → {step} was refused, and something changed"
            record.refresh_from_db()
            assert record.status == status
            continue
        assert may(status, step), f"{status} → {step} was allowed"
        entered.append(to)
        row, rows, _told = facts(record, history)
        assert (row["status"], row["moves"]) == (to, len(entered))
        assert [item["status"] for item in rows] == entered
        assert [item["position"] for item in rows] == list(range(1, len(rows) + 1))
        # Each move starts at the status in which the previous move ended.
        assert all(item["previous_status"] == other["status"] for other, item in pairwise(rows))
        assert rows[-1]["previous_status"] == status
        assert all(item["changed_at"] <= other["changed_at"] for item, other in pairwise(rows))
    return entered
