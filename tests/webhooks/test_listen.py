"""Test that `manage.py listen` prints and forwards the events of an account."""

import io
import json
import re

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from standardwebhooks.webhooks import Webhook

from config.webhooks.events import record_event
from config.webhooks.signing import service_signature
from tests.processes import free_port
from tests.webhooks.receiver import Receiver


@pytest.fixture
def closed_to_private(settings):
    """Block private addresses, as in a shell without settings."""
    settings.WEBHOOK_ALLOW_PRIVATE = False


def listen(user, *arguments):
    """Run the command once; return the printed lines and the final object."""
    written = io.StringIO()
    call_command("listen", "--account", user.username, "--once", "--json", *arguments, stdout=written)
    *lines, last = written.getvalue().splitlines()
    return lines, json.loads(last)


def emit(user, count=1):
    now = timezone.now()
    return [
        str(record_event("api_key.created", account_id=user.pk, now=now, api_key_id=f"key{n}")) for n in range(count)
    ]


@pytest.mark.usefixtures("closed_to_private")
class TestListenOnce:
    pytestmark = pytest.mark.django_db

    def test_listen_command_forwards_events_signed_like_webhook_deliveries(self, user):
        (event_id,) = emit(user)
        with Receiver() as receiver:
            lines, counts = listen(user, "--after", "0", "--forward-to", receiver.url)
        secret = re.search(r"whsec_\S+", lines[0])[0]
        (request,) = receiver.received
        message = Webhook(secret).verify(request.body, dict(request.headers))
        assert request.headers["X-Service-Signature"] == service_signature(secret, request.body)
        assert (message["id"], message["sequence"], request.headers["webhook-id"]) == (event_id, 1, event_id)
        assert lines[1].endswith(" -> 200")
        assert counts == {"events": 1, "accepted": 1, "failed": 0}

    def test_each_run_of_the_listen_command_has_a_new_secret(self, user):
        with Receiver() as receiver:
            assert listen(user, "--forward-to", receiver.url)[0] != listen(user, "--forward-to", receiver.url)[0]

    def test_listen_command_prints_an_error_status_of_the_receiver_and_continues(self, user):
        emit(user, 2)
        with Receiver(answers=[(500, {}, b"")]) as receiver:
            lines, counts = listen(user, "--after", "0", "--forward-to", receiver.url)
        assert [line.rpartition(" -> ")[2] for line in lines[1:]] == ["500", "200"]
        assert counts == {"events": 2, "accepted": 1, "failed": 1}

    def test_listen_command_reports_an_unreachable_receiver(self, user):
        emit(user)
        lines, counts = listen(user, "--after", "0", "--forward-to", f"http://localhost:{free_port()}/")
        assert lines[1].endswith(" -> connect")
        assert counts["failed"] == 1

    def test_listen_command_prints_new_events_or_events_after_a_sequence_number_in_order(self, user, stranger):
        emit(stranger, 2)
        assert listen(user, "--after", "0")[1]["events"] == 0
        ids = emit(user, 3)
        lines, counts = listen(user, "--after", "0")
        assert [line.split()[1:3] for line in lines] == [["api_key.created", item] for item in ids]
        assert lines[0].endswith('{"api_key_id":"key0"}')
        assert counts == {"events": 3, "accepted": 0, "failed": 0}
        assert listen(user)[1]["events"] == 0
        assert listen(user, "--after", "2")[1]["events"] == 1

    def test_listen_command_rejects_invalid_and_remote_addresses(self, user):
        for url in ("http://93.184.215.14/hook", "https://10.0.0.1/", "http://192.168.1.1:3000/", "http://[fe80::1]/",
                    "http://no-such-name.invalid/"):  # fmt: skip
            with pytest.raises(CommandError, match=r"Must be a URL of this machine.*--allow-remote"):
                listen(user, "--forward-to", url)
        for url in ("", "nonsense", "ftp://127.0.0.1/", "http://me:secret@127.0.0.1/", "http://127.0.0.1:0/x#y"):
            with pytest.raises(CommandError, match="--forward-to"):
                listen(user, "--forward-to", url)
        assert listen(user, "--forward-to", "http://93.184.215.14/hook", "--allow-remote")[1]["events"] == 0

    def test_listen_command_rejects_invalid_numbers_unknown_accounts_and_production(self, user, settings):
        for after in ("-1", "x", "01", "9" * 30, ""):
            with pytest.raises(CommandError, match="--after"):
                listen(user, "--after", after)
        with pytest.raises(CommandError, match="Account 'nobody' not found"):
            call_command("listen", "--account", "nobody", "--once")
        settings.PRODUCTION = True
        emit(user)
        with pytest.raises(CommandError, match="for development"):
            listen(user, "--after", "0")
