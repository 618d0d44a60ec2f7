"""The storage of the static files, which `collectstatic` writes to `VAR_DIR`."""

from datetime import datetime

from whitenoise.storage import CompressedManifestStaticFilesStorage


class CollectedFiles(CompressedManifestStaticFilesStorage):
    """Production's storage, which lets `collectstatic` replace every file."""

    def get_modified_time(self, name: str) -> datetime:
        """Raise NotImplementedError, so that `collectstatic` doesn't compare times.

        A file of a release has the time of its commit. If the previous version was installed after that commit, its
        file is newer, and `collectstatic` would leave it.
        """
        raise NotImplementedError
