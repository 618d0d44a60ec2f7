"""Test that the memory of a data export does not grow with the number of records."""

import tracemalloc

import pytest
from django.utils import timezone

from config.core import export
from tests.factories import ApplicationFactory

pytestmark = pytest.mark.django_db
LARGE = 50_000  # the size of an application's data in bytes


class Discard:
    """A file whose content is discarded."""

    def write(self, content):
        return len(content)

    def flush(self):
        pass


def test_data_export_loads_only_a_few_applications_at_a_time(user, monkeypatch):
    monkeypatch.setattr(export, "CHUNK_ROWS", 5)
    for _ in range(40):
        ApplicationFactory(consumer=user, application_data={"text": "x" * LARGE}, submitted_at=timezone.now())
    export.write_export(user.pk, Discard(), now=timezone.now())
    tracemalloc.start()
    try:
        counts = export.write_export(user.pk, Discard(), now=timezone.now())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert counts["rows"] >= 40
    assert peak < 30 * LARGE
