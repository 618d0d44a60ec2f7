"""Which key signs when, and that no server rejects a token as signed by an unknown key."""

from datetime import timedelta

import jwt
import requests
from django.contrib.auth.hashers import make_password
from django.utils import timezone

from identity.access import signing_keys
from identity.access.signing_keys import KEYS_REMEMBERED_SECONDS
from identity.models import SigningKey
from tests.factories import PASSWORD, UserFactory
from tests.identity.test_signing_keys import WEEK


class LogIns:
    """Logs in at each server in turn and calls all servers with the token; records every rejection."""

    def __init__(self, servers, username):
        self.servers, self.body = servers, {"username": username, "password": PASSWORD}
        self.refused, self.kids = [], []

    def round(self):
        for signer in self.servers:
            token = requests.post(f"{signer}/auth/token", json=self.body, timeout=99).json()["access_token"]
            self.kids.append(jwt.get_unverified_header(token)["kid"])
            for reader in self.servers:
                answer = requests.get(f"{reader}/auth/me", headers={"Authorization": f"Bearer {token}"}, timeout=99)
                if answer.status_code != 200:
                    self.refused.append((signer, reader, answer.text))


def test_tokens_of_one_server_are_accepted_by_the_other_during_rotation(two_servers):
    user = UserFactory()
    user.password = make_password(PASSWORD, hasher="argon2")  # the servers lack the fast hasher of the tests
    user.save(update_fields=["password"])
    log_ins = LogIns(two_servers, user.username)
    log_ins.round()  # the very first key, which no server could know before
    assert log_ins.refused == []
    old, fresh = log_ins.kids[-1], signing_keys.rotate_signing_key(now=timezone.now(), overlap=WEEK)[0]
    for _ in range(3):
        log_ins.round()
    assert set(log_ins.kids) == {old}
    # Move the start of the new key close, but leave each process the time for which it may cache the keys.
    soon = timezone.now() + timedelta(seconds=KEYS_REMEMBERED_SECONDS + 1)
    SigningKey.objects.filter(kid=fresh.kid).update(signs_from=soon)
    until = soon + timedelta(seconds=KEYS_REMEMBERED_SECONDS + 1)
    while timezone.now() < until:
        log_ins.round()
    log_ins.round()  # both servers know that the other key signs
    assert log_ins.kids[-2:] == [fresh.kid] * 2
    assert log_ins.refused == []
