"""WSGI entry of service B, `gunicorn ledger.wsgi`."""

import os

os.environ.setdefault("SERVICE", "ledger")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("DESK_ON_DEMAND", "1")

from django.core.wsgi import get_wsgi_application

application = get_wsgi_application()

from ledger.keys import signer  # noqa: E402, needs Django to be set up

# Without a usable key the process must not start, rather than fail at the first request.
signer()
