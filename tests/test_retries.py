"""Test that retries of write operations in generated orders have no second effect. RETRIES sets their number."""

import os
import re
from datetime import timedelta
from random import Random
from uuid import UUID

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.api.models import RateCounter
from config.ops import demo_ids
from credit.models import Counteroffer, Notice
from identity.access import authentication, tokens
from identity.models import User
from tests.test_examples import EXCEPTIONS
from tests.test_operations import RETRIED_WITH, WITH_KEY, WITHOUT_KEY, call, demo, parameters, person  # noqa: F401

RETRIES = int(os.environ.get("RETRIES", "75"))
SEED = 20260911
# The key is ignored, and each call creates an independent log-in, token, or link.
MAKE_ANOTHER = {"auth_token", "bankdata_link_token", "managed_accounts_issue_token", "oauth_token"}
SPELLINGS = ("{}", '"{}"')
WRITING = re.compile(r"(INSERT|UPDATE|DELETE)\b(?!.*api_ratecounter)")


def rows():
    """Return the number of rows of each table."""
    counted = [model for model in apps.get_models() if model._meta.managed and model is not RateCounter]
    return {model._meta.label: model._default_manager.count() for model in counted}


def prepared(name, caller):
    """Return the additions to an operation's example, which has ids and tokens of another demo."""
    if name == "auth_refresh":
        pair = tokens.start_family(user=User.objects.filter(is_active=True).first(), now=timezone.now())
        return {"members": {"refresh_token": pair.refresh_token}}
    if name == "counteroffers_create":
        reviewed = {"status": "under_review", "updated_by": str(demo_ids.DEMO_USER)}
        application = parameters(name, "path")["application_id"]["example"]
        caller.replace(f"/applications/{application}/status", reviewed)
        return {"members": {"expires_at": (timezone.now() + timedelta(days=20)).isoformat()}}
    if name in {"counteroffers_decline", "counteroffers_withdraw"}:
        offered = Counteroffer.objects.filter(closed_at=None).first()
        return {"path": {"application_id": str(offered.application_id), "counteroffer_id": str(offered.pk)}}
    if name == "notices_deliver":
        notice = Notice.objects.filter(application__consumer_id=demo_ids.DEMO_USER).first()
        return {"path": {"application_id": str(notice.application_id), "notice_id": str(notice.pk)}}
    return {"members": RETRIED_WITH.get(name, {})}


def test_idempotent_retries_in_any_order_change_nothing(demo, person):  # noqa: F811
    """Call three operations in a row, each with its own key, then retry them in another order."""
    random, sent, waiting, succeeded = Random(SEED), 0, [], set()
    while sent < RETRIES:
        before, done = transaction.savepoint(), []
        for _ in range(3):
            waiting = waiting or random.sample(WITH_KEY, len(WITH_KEY))
            name, key = waiting.pop(), str(UUID(int=random.getrandbits(128), version=4))
            options = prepared(name, person)
            done.append((name, key, options, call(person, name, demo, key=key, **options)))
        for name, key, options, first in random.sample(done, len(done)):
            spelling = random.choice(SPELLINGS).format(random.choice([key, key.upper()]))
            with CaptureQueriesContext(connection) as captured:
                again = call(person, name, demo, key=spelling, **options)
            sent += 1
            assert max(first.status_code, again.status_code) < 500, (name, first.content, again.content)
            if first.status_code < 300:
                succeeded.add(name)
                assert (again.status_code, again.content) == (first.status_code, first.content), name
                assert again.headers["Idempotent-Replayed"] == "true"
                assert [query["sql"] for query in captured if WRITING.match(query["sql"])] == [], name
        transaction.savepoint_rollback(before)
        authentication.forget_credentials()
    # An operation prevented by another of the three succeeds in another run.
    expected = {*WITH_KEY} - {*EXCEPTIONS}
    assert len(succeeded) > 0.9 * len(expected), expected - succeeded


@pytest.mark.parametrize("name", sorted({*WITHOUT_KEY} - MAKE_ANOTHER))
def test_second_call_of_an_operation_without_an_idempotency_key_adds_no_row(demo, person, name):  # noqa: F811
    call(person, name, demo)
    counted = rows()
    again = call(person, name, demo)
    assert again.status_code < 500, again.content
    assert rows() == counted
