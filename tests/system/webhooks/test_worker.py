"""`deliver_webhooks` as a separate process."""

import json
import os
import signal
import subprocess
import sys

from config.webhooks.models import Delivery
from tests.databases import own_database_url
from tests.processes import PATIENCE_SECONDS, ROOT, wait_until


def test_a_webhook_worker_delivers_events_until_sigterm_and_exits_with_status_0(
    committed, receiver, make_endpoint, emit
):
    make_endpoint(receiver.url)
    environment = {**os.environ, "DATABASE_URL": own_database_url(), "WEBHOOK_ALLOW_PRIVATE": "1"}
    command = [sys.executable, "-W", "ignore", "manage.py", "deliver_webhooks", "--json"]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        events = emit(10)
        wait_until(lambda: len(receiver.received) >= 10 or process.poll() is not None)
        process.send_signal(signal.SIGTERM)
        printed, _ = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        process.kill()
    assert process.returncode == 0
    assert json.loads(printed.splitlines()[-1])["delivered"] == 10
    assert sorted(receiver.ids) == sorted(events)
    assert set(Delivery.objects.values_list("status", flat=True)) == {"delivered"}
