"""The API reference of the ledger at /docs."""

import re
import shutil

import requests

from tests.system.server import gunicorn


def test_the_ledger_serves_every_asset_of_its_reference(migrated, tmp_path):
    shutil.copyfile(migrated, tmp_path / "own.sqlite3")  # the server writes rate counters
    with gunicorn(f"sqlite:///{tmp_path}/own.sqlite3", tmp_path, module="ledger.wsgi", SERVICE="ledger") as port:
        root = f"http://127.0.0.1:{port}"
        page = requests.get(f"{root}/docs", timeout=20)
        assert page.status_code == 200
        needed = re.findall(r'(?:src|href)="(/[^"#]+)"', page.text)
        assert {"/openapi.json", "/static/api/reference.js", "/static/api/reference.css"} <= set(needed)
        assert {requests.get(root + item, timeout=20).status_code for item in needed} == {200}
        assert requests.get(f"{root}/v1/docs", timeout=20).status_code == 404
