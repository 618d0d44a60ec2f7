"""The settings of the bench, with very high rate limits, and uncollected static files."""

from tests.bench.settings import *  # noqa: F403
from tests.bench.settings import STORAGES

STORAGES = {**STORAGES, "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
