"""The platform's settings for judging migrations: with the linter, and with a migration that is tried, if there is one.

WRONG_MIGRATIONS is a folder that has the migrations of `claims` and one more (`test_upgrade.py` makes it).
"""

import os
import sys

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "django_migration_linter"]
if tried := os.environ.get("WRONG_MIGRATIONS"):
    sys.path.insert(0, tried)
    MIGRATION_MODULES = {"claims": "tried"}
