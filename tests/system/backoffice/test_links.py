"""Every page that back office links lead to is requested."""

import pytest

from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.crawling import assert_no_link_fails, furnished, one_choice  # noqa: F401  a fixture
from tests.factories import UserFactory


@pytest.mark.parametrize(
    ("group", "policy"), [("Reviewer", "four_eyes"), ("Support", "open"), ("Operations", "open"), (None, "reviewed")]
)
@pytest.mark.usefixtures("furnished")
def test_no_back_office_link_fails_or_changes_data(settings, group, policy):
    settings.REVIEW_POLICY = policy
    user = staff_of(group) if group else UserFactory(is_staff=True, is_superuser=True)
    # The superuser tries every value of each filter. The other users try one value of each filter.
    assert_no_link_fails(backoffice_client(user), kind_of=one_choice if group else str)
