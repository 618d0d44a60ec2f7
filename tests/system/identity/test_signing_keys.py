"""Rotation of the signing key with two servers, which cache the keys."""

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
    """Logs in at each server, calls all servers with the token, and records every rejection."""

    def __init__(self, servers, username):
        self.servers, self.body = servers, {"username": username, "password": PASSWORD}
        self.rejected, self.kids = [], []

    def round(self):
        for signer in self.servers:
            token = requests.post(f"{signer}/auth/token", json=self.body, timeout=99).json()["access_token"]
            self.kids.append(jwt.get_unverified_header(token)["kid"])
            for reader in self.servers:
                answer = requests.get(f"{reader}/auth/me", headers={"Authorization": f"Bearer {token}"}, timeout=99)
                if answer.status_code != 200:
                    self.rejected.append((signer, reader, answer.text))


def test_two_servers_accept_all_tokens_during_a_rotation_of_the_signing_key(two_servers):
    user = UserFactory()
    user.password = make_password(PASSWORD, hasher="argon2")  # the servers do not have the fast hasher of the tests
    user.save(update_fields=["password"])
    log_ins = LogIns(two_servers, user.username)
    log_ins.round()  # the first signing key, which no server has cached
    assert log_ins.rejected == []
    old, fresh = log_ins.kids[-1], signing_keys.rotate_signing_key(now=timezone.now(), overlap=WEEK)[0]
    for _ in range(3):
        log_ins.round()
    assert set(log_ins.kids) == {old}
    # The new key starts soon, but not before the cached keys of each process expire.
    soon = timezone.now() + timedelta(seconds=KEYS_REMEMBERED_SECONDS + 1)
    SigningKey.objects.filter(kid=fresh.kid).update(signs_from=soon)
    until = soon + timedelta(seconds=KEYS_REMEMBERED_SECONDS + 1)
    while timezone.now() < until:
        log_ins.round()
    log_ins.round()  # both servers sign with the new key
    assert log_ins.kids[-2:] == [fresh.kid] * 2
    assert log_ins.rejected == []
