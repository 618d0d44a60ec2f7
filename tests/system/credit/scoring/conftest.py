"""A scoring engine that the tests of a process share."""

import pytest

from tests.system.credit.scoring.jpmml import Engine


@pytest.fixture(scope="session")
def engine():
    with Engine() as started:
        yield started
