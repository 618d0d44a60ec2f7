"""Nobody meets a link at the back office that leads to a refusal. Every page that anybody comes to is asked for."""

import pytest

from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.crawling import assert_no_link_fails, furnished, one_choice  # noqa: F401  a fixture
from tests.factories import UserFactory


@pytest.mark.parametrize(
    ("group", "policy"), [("Reviewer", "four_eyes"), ("Support", "open"), ("Operations", "open"), (None, "reviewed")]
)
@pytest.mark.usefixtures("furnished")
def test_no_link_of_the_backoffice_leads_to_a_refusal_or_a_fault_and_none_changes_anything(settings, group, policy):
    settings.REVIEW_POLICY = policy
    person = staff_of(group) if group else UserFactory(is_staff=True, is_superuser=True)
    # One visitor tries every choice that a filter offers, others one of each.
    assert_no_link_fails(backoffice_client(person), kind_of=one_choice if group else str)
