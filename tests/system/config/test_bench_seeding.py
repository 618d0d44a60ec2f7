"""The database of the bench can be prepared more than once, because each workload prepares it again."""

import os

import pytest

from tests import clusters
from tests.bench import seeding
from tests.bench.faults.cluster import cluster

pytestmark = pytest.mark.skipif(bool(clusters.missing()), reason=clusters.missing())


def test_benchmark_database_is_filled_once_and_returns_new_credentials_on_each_run(migrated_cluster, tmp_path):
    with cluster(data=migrated_cluster) as server:
        environment = seeding.environment(10, DATABASE_URL=server.address(), VAR_DIR=os.fspath(tmp_path))
        first, second = (seeding.fill(10, environment) for _ in range(2))
    assert first.api_key != second.api_key
    assert (first.reader_id, len(first.sample)) == (second.reader_id, 10)
    assert first.sample == second.sample
