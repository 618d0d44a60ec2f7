"""Test random decisions about staged items by their owner, by a stranger, and by expiry."""

from datetime import timedelta

import hypothesis.strategies as st
import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import given

from config.core.lifecycle import Actor
from config.webhooks.models import Event
from staging import services
from staging.errors import StagedItemNotFound
from staging.models import Approval, Note, StagedItem
from tests.factories import StagedItemFactory, UserFactory
from tests.properties import examples

ITEMS = 3
ENDS = {"approve": "approved", "reject": "rejected", "approve_all": "approved", "reject_all": "rejected"}
STEPS = st.tuples(st.sampled_from([*ENDS, "expire"]), st.integers(0, ITEMS - 1), st.sampled_from(["owner", "stranger"]))


def stored(owner):
    return list(StagedItem.objects.filter(user=owner).order_by("id").values())


@pytest.mark.django_db
def test_random_staging_steps_decide_each_item_once_and_store_only_approved_payloads():
    stranger = UserFactory()

    @given(st.lists(STEPS, min_size=1, max_size=12), st.integers(0, 1))
    @examples(20)
    def walks(steps, old):
        owner, now = UserFactory(), timezone.now()
        services.expire_staged(now=now)  # This call expires the items of the previous sequence.
        # If `old` is 1, the first item is older than the expiry period.
        ages = [timedelta(days=services.STAGED_DAYS + 1 if number < old else 0) for number in range(ITEMS)]
        items = [StagedItemFactory(user=owner, staged_at=now - age) for age in ages]
        model = dict.fromkeys((item.pk for item in items), "staged")
        for step, which, who in steps:
            actor = Actor(user=owner if who == "owner" else stranger, credential="test")
            before, count = stored(owner), Event.objects.count()
            meant = [items[which].pk] if step in {"approve", "reject"} else list(model)
            changing = [pk for pk in meant if model[pk] == "staged" and who == "owner"]
            if step == "expire":
                services.expire_staged(now=now)
                changing = [item.pk for item in items[:old] if model[item.pk] == "staged"]
            elif step.endswith("_all"):
                done = getattr(services, step)(actor=actor, now=now)
                assert sorted(done) == sorted(changing)
            else:
                decide = getattr(services, f"{step}_item")
                if changing:
                    decide(str(meant[0]), actor=actor, now=now)
                else:
                    with pytest.raises(StagedItemNotFound), transaction.atomic():
                        decide(str(meant[0]), actor=actor, now=now)
            model |= dict.fromkeys(changing, ENDS.get(step, "expired"))
            after = stored(owner)
            assert {row["id"]: row["status"] for row in after} == model
            pairs = [pair for pair in zip(before, after, strict=True) if pair[0]["id"] not in changing]
            assert all(entry == other for entry, other in pairs), "what is decided stays as it was decided"
            assert Event.objects.count() - count == len(changing)
        approved = [pk for pk, status in model.items() if status == "approved"]
        assert sorted(Approval.objects.filter(item__user=owner).values_list("item_id", flat=True)) == sorted(approved)
        assert Note.objects.filter(user=owner).count() == len(approved)

    walks()
