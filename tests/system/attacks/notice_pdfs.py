"""Request notices as PDF with one account: do the requests of others wait, and does another person get their PDF?

`python -m tests.system.attacks.notice_pdfs`
"""

import json
import statistics
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import requests

from tests.processes import manage
from tests.system.server import environment_of, running

PER_SECOND, READS, PRINTS = 40, 30, 10
PROFILE = {"REVIEW_POLICY": "reviewed", "PROVIDERS": "open"}
SEED = """
import json
from datetime import timedelta
from django.utils import timezone
from identity.access.keys import create_api_key
from tests.credit.notices.world import World, provider_offer
now, offer, made = timezone.now(), provider_offer(), []
for _ in range(2):
    world = World(offer, start=now - timedelta(days=10))
    world.submit(0)
    world.reject(5)
    world.issue(6)
    key = create_api_key(owner=world.consumer.user, name="n", scopes=None, now=now).key
    made.append([key, f"/applications/{world.pk}/notices/{world.notice.pk}"])
print(json.dumps(made))
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        environment = environment_of(f"sqlite:///{folder}/db.sqlite3", folder, **PROFILE)
        manage(environment, "migrate", "--verbosity", "0")
        (attacker, notice), (other, own) = json.loads(manage(environment, "shell", "-v", "0", "-c", SEED))
        with (
            Path(folder, "log").open("wb") as log,
            running(environment["DATABASE_URL"], folder, threads=16, stderr=log, **PROFILE) as server,
        ):

            def send(key: str, path: str, accept: str = "application/json") -> tuple[int, float]:
                """Return the status of a GET, 0 without a response, and the seconds that it took."""
                began = time.perf_counter()
                headers = {"X-API-Key": key, "Accept": accept}
                try:
                    response = requests.get(f"http://127.0.0.1:{server.port}/v1{path}", headers=headers, timeout=60)
                except requests.RequestException:
                    return 0, time.perf_counter() - began
                return response.status_code, time.perf_counter() - began

            def reads() -> str:
                seconds = [send(other, "/applications")[1] for _ in range(READS)]
                return f"p50 {statistics.median(seconds):.3f} s, p95 {statistics.quantiles(seconds, n=20)[-1]:.3f} s"

            if send(attacker, notice, "application/pdf")[0] != 200:
                print("needs weasyprint")
                return
            print(f"another account's GET before: {reads()}")
            ended, attacks = threading.Event(), Counter[int]()

            def attack() -> None:
                attacks[send(attacker, notice, "application/pdf")[0]] += 1

            def attack_on_and_on() -> None:
                while not ended.wait(1 / PER_SECOND):
                    threading.Thread(target=attack).start()

            attacking = threading.Thread(target=attack_on_and_on)
            attacking.start()
            print(f"another account's GET during {PER_SECOND} requests for a PDF a second: {reads()}")
            prints = Counter(send(other, own, "application/pdf")[0] for _ in range(PRINTS))
            ended.set()
            attacking.join()
    print(f"another person's PDFs: {dict(prints)}; the attacker's: {dict(attacks)}")


if __name__ == "__main__":
    main()
