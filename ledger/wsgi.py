"""The WSGI application of service B: `gunicorn --config config/gunicorn.py ledger.wsgi`."""

import os

os.environ.setdefault("SERVICE", "ledger")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# The timeout of SQL statements must be shorter than the 30 s of a request.
os.environ.setdefault("STATEMENT_TIMEOUT_SECONDS", "25")

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from config.api.middleware import ChunkedBodies
from config.core import audit

application = ChunkedBodies(get_wsgi_application(), limit=settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
audit.emit_start()
