"""The settings of a bench, rate limits out of reach, and static files as they lie, not collected."""

from tests.bench.settings import *  # noqa: F403
from tests.bench.settings import STORAGES

STORAGES = {**STORAGES, "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
