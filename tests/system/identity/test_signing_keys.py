"""Which key signs when, and that nobody ever meets a token of a key that they do not know."""

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
    """Logs in at each server in turn and calls all of them with what it got; every refusal is kept."""

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


def test_no_token_of_one_server_is_refused_by_the_other(two_servers):
    user = UserFactory()
    user.password = make_password(PASSWORD, hasher="argon2")  # the servers do not know the quick hash of the tests
    user.save(update_fields=["password"])
    log_ins = LogIns(two_servers, user.username)
    log_ins.round()  # the very first key, which nobody could know before
    assert log_ins.refused == []
    old, fresh = log_ins.kids[-1], signing_keys.rotate_signing_key(now=timezone.now(), overlap=WEEK)[0]
    for _ in range(3):
        log_ins.round()
    assert set(log_ins.kids) == {old}
    # Bring the moment near, but leave each process as long as it may remember the keys for.
    soon = timezone.now() + timedelta(seconds=KEYS_REMEMBERED_SECONDS + 1)
    SigningKey.objects.filter(kid=fresh.kid).update(signs_from=soon)
    until = soon + timedelta(seconds=KEYS_REMEMBERED_SECONDS + 1)
    while timezone.now() < until:
        log_ins.round()
    log_ins.round()  # by now both know that the other key signs
    assert log_ins.kids[-2:] == [fresh.kid] * 2
    assert log_ins.refused == []
