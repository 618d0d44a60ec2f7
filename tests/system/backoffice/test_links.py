"""Every page that back office links lead to is requested."""

import pytest

from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.crawling import assert_no_link_fails, furnished, one_choice  # noqa: F401  a fixture
from tests.factories import UserFactory


@pytest.mark.parametrize(
    ("group", "policy"), [("Reviewer", "four_eyes"), ("Support", "open"), ("Operations", "open"), (None, "reviewed")]
)
@pytest.mark.usefixtures("furnished")
def test_opening_every_back_office_link_causes_no_error_and_changes_no_data(settings, group, policy):
    settings.REVIEW_POLICY = policy
    user = staff_of(group) if group else superuser()
    assert_no_link_fails(backoffice_client(user), kind_of=one_choice)


@pytest.mark.nightly
@pytest.mark.usefixtures("furnished")
def test_opening_every_back_office_filter_value_causes_no_error_and_changes_no_data(settings):
    settings.REVIEW_POLICY = "reviewed"
    assert_no_link_fails(backoffice_client(superuser()), kind_of=str)


def superuser():
    return UserFactory(is_staff=True, is_superuser=True)
