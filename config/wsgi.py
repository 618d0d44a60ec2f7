"""Service A behind a WSGI server: `gunicorn --config config/gunicorn.py config.wsgi`."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# A request's statement may not outlive the request: its deadline is 30 s.
os.environ.setdefault("STATEMENT_TIMEOUT_SECONDS", "25")
os.environ.setdefault("DESK_ON_DEMAND", "1")

from django.core.wsgi import get_wsgi_application

from config.replication import start_watching

application = get_wsgi_application()
start_watching()
