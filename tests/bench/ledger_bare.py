"""The reference for anchors per second: a bare Django view that commits one row per request.

Without middleware, with minimal validation and one INSERT in autocommit, it shows the minimal cost of a durable write
in a Django service. To run it, set DATABASE_URL and start `gunicorn tests.bench.ledger_bare`.
"""

import os
from hashlib import sha256

import orjson
from django.conf import settings

from config.core.databases import parse_address

if not settings.configured:
    settings.configure(
        ALLOWED_HOSTS=["*"],
        DATABASES={"default": {**parse_address(os.environ["DATABASE_URL"]), "CONN_MAX_AGE": None}},
        MIDDLEWARE=[],
        ROOT_URLCONF=__name__,
        SECRET_KEY="bench",
    )

from django.core.wsgi import get_wsgi_application
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.urls import path

INSERT = "INSERT INTO bare (hash, user_id, report_type) VALUES (%s, %s, %s) RETURNING id"


def anchor(request: HttpRequest) -> HttpResponse:
    """Hash the report and commit one row."""
    body = orjson.loads(request.body)
    digest = sha256(body["report_data"].encode()).digest()
    with connection.cursor() as cursor:
        cursor.execute(INSERT, [digest, body["user_id"], body["report_type"]])
        (row_id,) = cursor.fetchone()
    answer = {"success": True, "hash": digest.hex(), "block_number": row_id, "extrinsic_hash": "0x"}
    return HttpResponse(orjson.dumps(answer), content_type="application/json")


urlpatterns = [path("anchor", anchor)]
application = get_wsgi_application()
