"""Fill the disk with files on drafts: how many MiB does one account store?

`python -m tests.system.attacks.storage`
"""

import json
import tempfile
import time
from collections import Counter
from pathlib import Path

import requests

from tests.processes import account_with_key
from tests.system.server import environment_of, manage, running

SECONDS, FILE_BYTES = 40, 10 << 20
DRAFT = {
    "initial_status": "draft", "offer_id": 7_000, "provider_id": 8_000,
    "application_data": {"amount_cents": 1_000_000},
}  # fmt: skip
CHECKLIST = """
from django.utils import timezone
from credit.models import Application, RequestedDocument
for application in Application.objects.all():
    for number in range(5):
        RequestedDocument.objects.create(
            application=application, name=str(number), requested_at=timezone.now(), changed_by=application.consumer
        )
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/db.sqlite3"
        manage(database, folder, "migrate", "--verbosity", "0")
        user_id, key, _secret = account_with_key(environment_of(database, folder), "account")
        with Path(folder, "log").open("wb") as log, running(database, folder, threads=16, stderr=log) as server:
            client, address = requests.Session(), f"http://127.0.0.1:{server.port}/v1/applications"
            client.headers["X-API-Key"] = key
            drafts = [client.post(address, json=DRAFT | {"consumer_id": str(user_id)}).json() for _ in range(4)]
            ids = [draft["id"] for draft in drafts]
            manage(database, folder, "shell", "-v", "0", "-c", CHECKLIST)
            began, statuses = time.monotonic(), Counter[str]()
            for number in range(200):
                if time.monotonic() - began > SECONDS:
                    break
                documents = f"{address}/{ids[number // 50]}/documents"
                document = client.get(documents).json()["documents"][number % 50 // 10]["id"]
                content = b"%PDF-1.4\n" + number.to_bytes(4, "big") + bytes(FILE_BYTES - 32) + b"\n%%EOF\n"
                response = client.post(f"{documents}/{document}/files", files={"file": ("a.pdf", content)})
                code = json.loads(response.text).get("code", "")
                statuses[f"{response.status_code} {code}".strip()] += 1
            for application in ids:
                client.put(f"{address}/{application}/status", json={"status": "withdrawn", "updated_by": "me"})
            stored = stored_mib(folder)
            manage(database, folder, "prune")
            print(f"{dict(statuses)}: {stored} MiB stored; {stored_mib(folder)} MiB after withdrawal and `prune`")


def stored_mib(folder: str) -> int:
    return sum(file.stat().st_size for file in Path(folder, "documents").rglob("*") if file.is_file()) >> 20


if __name__ == "__main__":
    main()
