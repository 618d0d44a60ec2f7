import pytest

from tests.credit.notices.world import World


@pytest.fixture(autouse=True)
def _reviewed(settings):
    settings.REVIEW_POLICY = "reviewed"
    settings.REPORTS = "off"  # lenders type the reports of their decisions
    settings.NOTICE_CHANNELS = ["portal", "email", "post", "provider"]


@pytest.fixture
def world(db):
    """A submitted application of a person with an address, to a lender with one."""
    made = World()
    made.submit(0)
    return made
