"""No back office link leads to an error. Every reachable page is requested."""

import pytest

from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.crawling import assert_no_link_fails, furnished, one_choice  # noqa: F401  a fixture
from tests.factories import UserFactory


@pytest.mark.parametrize(
    ("group", "policy"), [("Reviewer", "four_eyes"), ("Support", "open"), ("Operations", "open"), (None, "reviewed")]
)
@pytest.mark.usefixtures("furnished")
def test_no_link_of_the_back_office_leads_to_an_error_or_changes_data(settings, group, policy):
    settings.REVIEW_POLICY = policy
    person = staff_of(group) if group else UserFactory(is_staff=True, is_superuser=True)
    # A single user tries every value of a filter; other users try one value of each.
    assert_no_link_fails(backoffice_client(person), kind_of=one_choice if group else str)
