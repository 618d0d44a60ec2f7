"""Restarts, reloads, and key rotations of servers behind nginx under load."""

import pytest

from tests import clusters
from tests.bench.faults import deploy
from tests.bench.proxy import nginx_program

pytestmark = [
    pytest.mark.skipif(bool(clusters.missing()), reason=clusters.missing()),
    pytest.mark.skipif(nginx_program() is None, reason="needs nginx"),
]


@pytest.mark.timeout(900)
def test_no_request_is_lost_during_restarts_of_servers_behind_nginx(migrated_cluster):
    lines = [*deploy.run(quick=True, data=migrated_cluster)]
    sent = [line.value for line in lines if line.subject == "requests without a key"]
    assert len(sent) == 3
    assert all(sent)
    assert not [line for line in lines if line.met is False]
