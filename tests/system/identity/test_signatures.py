"""Replay protection of signed requests over two server processes."""

import json
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from credit.models import Offer
from tests.factories import UserFactory
from tests.identity.support import issue, signature_headers
from tests.identity.test_signatures import OFFERS

pytestmark = pytest.mark.django_db


def test_a_signed_request_sent_to_two_processes_is_executed_only_once(two_servers):
    issued = issue(UserFactory())
    body = json.dumps({"provider_id": "901", "name": "A", "product_type": "personal_loan"}).encode()
    headers = {**signature_headers(issued, "POST", OFFERS, body), "Content-Type": "application/json"}

    def send(number):
        address = two_servers[number % 2].removesuffix("/v1") + OFFERS
        changes = {"Idempotency-Key": str(uuid.uuid4())} if number > 1 else {}
        return requests.post(address, data=body, headers={**headers, **changes}, timeout=99).status_code

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(send, range(8))) == [201] + [401] * 7
    assert Offer.objects.count() == 1
