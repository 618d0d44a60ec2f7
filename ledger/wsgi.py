"""Service B behind a WSGI server: `gunicorn --config config/gunicorn.py ledger.wsgi`."""

import os

os.environ.setdefault("SERVICE", "ledger")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# A request's statement may not outlive the request: its deadline is 30 s.
os.environ.setdefault("STATEMENT_TIMEOUT_SECONDS", "25")

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from config.api.chunked import ChunkedBodies
from config.core import audit

application = ChunkedBodies(get_wsgi_application(), limit=settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
audit.emit_start()
