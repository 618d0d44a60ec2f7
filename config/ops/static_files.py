"""The storage of static files, and the check that these files exist. `collectstatic` writes the files to `VAR_DIR`."""

from datetime import datetime
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.contrib.staticfiles.storage import ManifestFilesMixin, staticfiles_storage
from django.core import checks
from whitenoise.storage import CompressedManifestStaticFilesStorage


class CollectedFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # whitenoise has no types
    """The storage in production. `collectstatic` replaces every file."""

    def get_modified_time(self, name: str) -> datetime:
        """Raise NotImplementedError, so that `collectstatic` doesn't compare times.

        A file has the time of its commit. Installed files can be newer, and `collectstatic` would then not replace
        them.
        """
        raise NotImplementedError


def check_static_files(**_options: Any) -> list[checks.CheckMessage]:
    """Check that each static file of this service is collected. Pages return 500 without their files."""
    storage: Any = staticfiles_storage
    if not isinstance(storage, ManifestFilesMixin):
        return [checks.Info("served from the packages")]
    app: Any = apps.get_app_config("staticfiles")
    names = {name for finder in get_finders() for name, _storage in finder.list(app.ignore_patterns)}
    if missing := len(names - storage.hashed_files.keys()):
        text = (
            f"{missing} static files are missing in {settings.STATIC_ROOT}, and pages return 500: "
            f"run `manage.py collectstatic --no-input` with SERVICE={settings.SERVICE}."
        )
        return [checks.Error(text)]
    return [checks.Info(f"{len(names)} collected")]
