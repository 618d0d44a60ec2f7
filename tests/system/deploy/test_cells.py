"""Two cells behind one proxy: an account lives in one of them, and the other knows nothing of it."""

import json
import shutil
import uuid

import pytest

from tests.bench.proxy import nginx_of_cells, nginx_program
from tests.processes import account_with_key
from tests.system.server import body_of, environment_of, exchange, gunicorn, request, status_of

pytestmark = pytest.mark.skipif(nginx_program() is None, reason="needs nginx")
CELLS = ("north", "south")


def host_of(cell):
    return f"{cell}.api.example"


def test_each_account_is_served_by_its_cell_and_unknown_in_the_other(tmp_path, migrated):
    places = {cell: (f"sqlite:///{tmp_path}/{cell}/platform.sqlite3", tmp_path / cell) for cell in CELLS}
    for _address, folder in places.values():
        folder.mkdir()
        shutil.copyfile(migrated, folder / "platform.sqlite3")
    accounts = {cell: account_with_key(environment_of(*place), cell) for cell, place in places.items()}

    def served(cell):
        return gunicorn(*places[cell], BASE_URL=f"http://{host_of(cell)}/v1")

    with served("north") as north, served("south") as south, nginx_of_cells(north, south) as port:

        def call(cell, key, method, path, body=None):
            head = [f"X-API-Key: {key}", f"Idempotency-Key: {uuid.uuid4()}", "Content-Type: application/json"]
            raw = json.dumps(body).encode() if body else b""
            answer = exchange(port, request(method, path, raw, *head, host=host_of(cell)))
            return status_of(answer), json.loads(body_of(answer))

        for here, there in (CELLS, CELLS[::-1]):
            me, key, _secret = accounts[here]
            wanted = {"consumer_id": str(me), "offer_id": 1, "provider_id": 1, "application_data": {}}
            status, made = call(here, key, "POST", "/v1/applications", wanted)
            assert status == 201
            assert call(here, key, "GET", f"/v1/applications/{made['id']}")[0] == 200
            # Over there nobody knows the key, and nobody there finds the application.
            assert call(there, key, "GET", f"/v1/applications/{made['id']}")[1]["code"] == "E2002"
            assert call(there, accounts[there][1], "GET", f"/v1/applications/{made['id']}")[1]["code"] == "E4002"
            assert call(here, key, "GET", "/v1/applications")[1] == [made]
        assert status_of(exchange(port, request("GET", "/v1/health", host="elsewhere.example"))) >= 400
