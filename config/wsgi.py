"""The platform (service A) as a WSGI application: `gunicorn --config config/gunicorn.py config.wsgi`."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# A statement must end before the time limit of a request (30 s).
os.environ.setdefault("STATEMENT_TIMEOUT_SECONDS", "25")

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from config.api.middleware import ChunkedBodies
from config.core import audit
from credit.api.documents.parsers import FORM_MAX_BYTES

application = ChunkedBodies(get_wsgi_application(), limit=settings.FILE_UPLOAD_MAX_BYTES + FORM_MAX_BYTES)
audit.emit_start()
