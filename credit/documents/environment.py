"""Parse the settings of the document storage and the virus scanner."""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from config.env import text


def document_storage(name: str, value: str) -> dict[str, Any]:
    """Return Django's storage settings for a folder, or for `s3://bucket/prefix` with django-storages."""
    if not value.startswith("s3://"):
        if not Path(value).is_absolute():
            raise ImproperlyConfigured(
                f"{name}={value!r} must be an absolute folder such as /srv/documents, or s3://bucket/prefix."
            )
        folder = {"location": value, "file_permissions_mode": 0o600, "directory_permissions_mode": 0o700}
        return {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": folder}
    bucket, _, prefix = value.removeprefix("s3://").partition("/")
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", bucket):
        raise ImproperlyConfigured(f"{name}={value!r} has no bucket: set it to s3://bucket/prefix.")
    if find_spec("storages") is None or find_spec("boto3") is None:
        raise ImproperlyConfigured(
            f"{name}={value!r} needs a package that is not installed: `pip install 'django-storages[s3]'`, or set it "
            "to a folder."
        )
    from botocore.config import Config

    options = {
        "bucket_name": bucket,
        "location": prefix.strip("/"),
        "file_overwrite": False,
        "default_acl": None,
        # With the library's default timeouts, a request could wait for minutes.
        "client_config": Config(connect_timeout=3, read_timeout=8, retries={"total_max_attempts": 2}),
    }
    return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}


def scanner_address(name: str) -> tuple[str, int] | str | None:
    """Return the address of clamd: a host and a port, the path of a socket, or None if the setting is empty."""
    value = text(name)
    if not value:
        return None
    try:
        parts = urlsplit(value)
        if parts.scheme == "clamd" and not (parts.query or parts.fragment or parts.username):
            if parts.hostname and parts.port and parts.path in {"", "/"}:
                return parts.hostname, parts.port
            if not parts.netloc and parts.path not in {"", "/"}:
                return parts.path
    except ValueError:
        # The port is invalid.
        pass
    raise ImproperlyConfigured(
        f"{name}={value!r} must be a URL such as clamd://127.0.0.1:3310 or clamd:///run/clamav/clamd.ctl."
    )
