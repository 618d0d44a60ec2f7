"""The settings of the benchmarks, whose rate limits are too high to reach, without collected static files."""

from tests.bench.settings import *  # noqa: F403
from tests.bench.settings import STORAGES

STORAGES = {**STORAGES, "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
