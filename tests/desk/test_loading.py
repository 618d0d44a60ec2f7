"""What a server process loads, and when."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import io, json, sys
from config.wsgi import application

LATE = ("credit.admin", "config.desk.site", "drf_spectacular.openapi")

def get(path):
    answer = []
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "SERVER_NAME": "127.0.0.1", "SERVER_PORT": "80",
               "REMOTE_ADDR": "127.0.0.1", "wsgi.input": io.BytesIO(), "wsgi.url_scheme": "http"}
    body = b"".join(application(environ, lambda status, headers: answer.append(int(status[:3]))))
    return answer[0], len(body), [name for name in LATE if name in sys.modules]

def document():
    from config.api.docs import document_bytes
    return 200, len(document_bytes("config.urls")), [name for name in LATE if name in sys.modules]

print(json.dumps([get("/v1/nothing/here"), get("/admin/"), document()]))
"""


def test_a_server_loads_the_desk_and_the_documents_tools_at_the_first_request_for_them(tmp_path):
    environment = {**os.environ, "VAR_DIR": str(tmp_path), "DATABASE_URL": ""}
    environment.pop("DJANGO_SETTINGS_MODULE", None)
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment, check=True, capture_output=True, timeout=120
    )
    (missing, _, at_first), (page, _, after_page), (document, length, after_document) = json.loads(run.stdout)
    assert (missing, at_first) == (404, [])
    assert (page, after_page) == (302, ["credit.admin", "config.desk.site"])
    assert (document, len(after_document)) == (200, 3)
    assert length > 100_000
