"""Faults of database nodes while callers write: three kinds. `make nightly` runs every kind, and checks durations."""

import pytest

from tests.system.availability import faults
from tests.system.availability.nodes import missing

pytestmark = [pytest.mark.skipif(bool(missing()), reason=missing()), pytest.mark.timeout(900)]
KINDS = {fault.name: fault for fault in faults.FAULTS}
SHORT_FORM = ("switch-over", "cable of the primary pulled for 4 s", "machine of the primary killed")


def test_writes_are_not_lost_or_repeated_during_faults_of_database_nodes():
    outcome = faults.run(
        plan=lambda rig: [item for item in map(KINDS.get, SHORT_FORM) if faults.is_possible(item, rig)],
        pause_seconds=0.1,  # other tests use the cores, too
    )
    assert outcome.not_linearizable == []
    assert outcome.histories > 10
    assert (outcome.lost, outcome.doubled, outcome.undocumented[:3]) == (0, 0, [])
    assert (outcome.restarted, outcome.ledger_ok) == (0, True)
