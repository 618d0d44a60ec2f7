"""manage.py listen: an account's events, printed and forwarded."""

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
    """What a shell without settings has: webhooks go nowhere near this machine."""
    settings.WEBHOOK_ALLOW_PRIVATE = False


def listen(user, *arguments):
    """Run the command until everything has been told; what it printed before the object, and the object."""
    written = io.StringIO()
    call_command("listen", "--account", user.username, "--once", "--json", *arguments, stdout=written)
    *lines, last = written.getvalue().splitlines()
    return lines, json.loads(last)


def happen(user, count=1):
    now = timezone.now()
    return [
        str(record_event("api_key.created", account_id=user.pk, now=now, api_key_id=f"key{n}")) for n in range(count)
    ]


@pytest.mark.usefixtures("closed_to_private")
class TestOnce:
    pytestmark = pytest.mark.django_db

    def test_events_are_printed_in_order(self, user):
        ids = happen(user, 3)
        lines, counts = listen(user, "--after", "0")
        assert [line.split()[1:3] for line in lines] == [["api_key.created", one] for one in ids]
        assert lines[0].endswith('{"api_key_id":"key0"}')
        assert counts == {"events": 3, "accepted": 0, "failed": 0}

    def test_listen_begins_after_the_newest_event_by_default(self, user):
        happen(user, 3)
        assert listen(user)[1]["events"] == 0
        assert listen(user, "--after", "2")[1]["events"] == 1

    def test_events_are_forwarded_as_deliveries_are_signed(self, user):
        (event_id,) = happen(user)
        with Receiver() as receiver:
            lines, counts = listen(user, "--after", "0", "--forward-to", receiver.url)
        secret = re.search(r"whsec_\S+", lines[0])[0]
        (request,) = receiver.received
        told = Webhook(secret).verify(request.body, dict(request.headers))
        assert request.headers["X-Service-Signature"] == service_signature(secret, request.body)
        assert (told["id"], told["sequence"], request.headers["webhook-id"]) == (event_id, 1, event_id)
        assert lines[1].endswith(" -> 200")
        assert counts == {"events": 1, "accepted": 1, "failed": 0}

    def test_each_run_signs_with_a_secret_of_its_own(self, user):
        with Receiver() as receiver:
            assert listen(user, "--forward-to", receiver.url)[0] != listen(user, "--forward-to", receiver.url)[0]

    def test_an_answer_that_is_no_success_is_told_and_the_next_event_follows(self, user):
        happen(user, 2)
        with Receiver(answers=[(500, {}, b"")]) as receiver:
            lines, counts = listen(user, "--after", "0", "--forward-to", receiver.url)
        assert [line.rpartition(" -> ")[2] for line in lines[1:]] == ["500", "200"]
        assert counts == {"events": 2, "accepted": 1, "failed": 1}

    def test_an_unreachable_receiver_is_printed(self, user):
        happen(user)
        lines, counts = listen(user, "--after", "0", "--forward-to", f"http://localhost:{free_port()}/")
        assert lines[1].endswith(" -> connect")
        assert counts["failed"] == 1

    def test_listen_prints_events_of_its_account_alone(self, user, stranger):
        happen(stranger, 2)
        assert listen(user, "--after", "0")[1]["events"] == 0

    def test_another_machine_is_refused(self, user):
        for url in ("http://93.184.215.14/hook", "https://10.0.0.1/", "http://192.168.1.1:3000/", "http://[fe80::1]/",
                    "http://no-such-name.invalid/"):  # fmt: skip
            with pytest.raises(CommandError, match=r"Must be an address of this machine.*--allow-remote"):
                listen(user, "--forward-to", url)

    def test_an_invalid_address_is_rejected(self, user):
        for url in ("", "nonsense", "ftp://127.0.0.1/", "http://me:secret@127.0.0.1/", "http://127.0.0.1:0/x#y"):
            with pytest.raises(CommandError, match="--forward-to"):
                listen(user, "--forward-to", url)

    def test_another_machine_may_be_allowed(self, user):
        assert listen(user, "--forward-to", "http://93.184.215.14/hook", "--allow-remote")[1]["events"] == 0

    def test_a_number_that_is_none_is_refused(self, user):
        for after in ("-1", "x", "01", "9" * 30, ""):
            with pytest.raises(CommandError, match="--after"):
                listen(user, "--after", after)

    def test_an_account_that_is_not_there_is_said(self, user):
        with pytest.raises(CommandError, match="Account 'nobody' not found"):
            call_command("listen", "--account", "nobody", "--once")

    def test_listen_refuses_to_run_in_production(self, user, settings):
        settings.PRODUCTION = True
        happen(user)
        with pytest.raises(CommandError, match="for development"):
            listen(user, "--after", "0")
