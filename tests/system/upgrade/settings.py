"""The platform's settings for checking migrations: with the linter, and with a migration under test, if there is one.

WRONG_MIGRATIONS is a folder with the migrations of `claims` and one more (`test_upgrade.py` creates it).
"""

import os
import sys

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "django_migration_linter"]
if tried := os.environ.get("WRONG_MIGRATIONS"):
    sys.path.insert(0, tried)
    MIGRATION_MODULES = {"claims": "tried"}
