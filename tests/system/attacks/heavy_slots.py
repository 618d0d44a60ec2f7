"""Ask for scores that do not exist, with eight accounts: does another person's heavy operation go on?

`python -m tests.system.attacks.heavy_slots`
"""

import http.client
import tempfile
import threading
from collections import Counter
from pathlib import Path
from uuid import uuid4

from tests.processes import account_with_key
from tests.system.server import environment_of, manage, running

ACCOUNTS, CALLS = 8, 80


def send(port: int, key: str, method: str, path: str, body: str | None = None) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, body, {"X-API-Key": key, "Content-Type": "application/json"})
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/db.sqlite3"
        manage(database, folder, "migrate", "--verbosity", "0")
        environment = environment_of(database, folder)
        keys = [account_with_key(environment, f"account{number}")[1] for number in range(ACCOUNTS + 1)]
        ended = threading.Event()
        with Path(folder, "log").open("wb") as log, running(database, folder, threads=16, stderr=log) as server:

            def attack(key: str) -> None:
                while not ended.is_set():
                    send(server.port, key, "GET", f"/v1/applications/{uuid4()}/score")

            attackers = [threading.Thread(target=attack, args=(key,)) for key in keys[1:]]
            for thread in attackers:
                thread.start()
            calls = (send(server.port, keys[0], "POST", "/v1/offers/match", "{}") for _ in range(CALLS))
            statuses = Counter(calls)
            ended.set()
            for thread in attackers:
                thread.join()
    print(f"{ACCOUNTS} accounts ask for scores that do not exist; another person's matches: {dict(statuses)}")


if __name__ == "__main__":
    main()
