"""Test that advancing the clock has the same result as waiting, for random stories."""

from datetime import timedelta

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given

from tests.properties import examples, quick_or_full
from tests.sandbox.worlds import ACTIONS, Moved, Waiting, seen_after

pytestmark = pytest.mark.django_db

MONTH = timedelta(days=31)
QUARTER = timedelta(minutes=15)
# The spans are multiples of 15 minutes. Their sums either are exactly the time of an expiry, or differ from it by more
# than the duration of a test.
SPANS = st.sampled_from(
    [
        QUARTER, timedelta(hours=23), timedelta(hours=25), timedelta(hours=73), timedelta(days=13), timedelta(days=29),
        MONTH, timedelta(days=77),
    ]
) | st.integers(1, 40 * 24 * 4).map(lambda quarters: quarters * QUARTER)  # fmt: skip
STORIES = st.lists(st.sampled_from(ACTIONS) | SPANS, min_size=2, max_size=12)


@pytest.mark.nightly  # This test takes minutes on PostgreSQL. The next test is the short form.
@given(st.lists(st.sampled_from(ACTIONS), min_size=1, max_size=8), STORIES)
@examples(15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_sandbox_clock_advance_has_the_same_result_as_waiting_for_the_same_time(beginning, rest):
    story = [*beginning, MONTH, *rest]
    assert seen_after(story, Moved()) == seen_after(story, Waiting())


@pytest.mark.parametrize(
    "span",
    quick_or_full([timedelta(hours=25), MONTH], [timedelta(hours=25), timedelta(days=13), MONTH, timedelta(days=77)]),
)
def test_sandbox_clock_advance_after_each_action_has_the_same_result_as_waiting(span):
    story = [*ACTIONS, "verify", "verify", "fail_to_answer", span]
    assert seen_after(story, Moved()) == seen_after(story, Waiting())
