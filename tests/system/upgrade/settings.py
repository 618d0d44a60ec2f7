"""The platform's settings for checks of migrations, with the linter, and optionally with a migration under test.

WRONG_MIGRATIONS is a folder with the migrations of `claims` and a further migration. `test_upgrade.py` creates it.
"""

import os
import sys

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "django_migration_linter"]
if tried := os.environ.get("WRONG_MIGRATIONS"):
    sys.path.insert(0, tried)
    MIGRATION_MODULES = {"claims": "tried"}
