"""Test that all pages and endpoints that accept a password share limits, which are checked before hashing."""

import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain, islice

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher, MD5PasswordHasher
from django.test import Client
from django.urls import reverse
from django.utils.module_loading import import_string

from config import settings as project_settings
from config.api.models import RateCounter
from config.api.rate_limits import RateLimited, consume, network_of
from config.core.credentials import InvalidToken
from config.core.errors import Unavailable
from config.ops.pruning import prune
from identity.access import hashers
from identity.access.log_ins import login_attempt
from identity.accounts.addresses import confirm
from tests.api import ApiClient, assert_error
from tests.factories import PASSWORD, UserFactory
from tests.identity.support import stop_clock
from tests.identity.test_account_pages import follow, link_in, mailed
from tests.races import run_concurrently
from tests.second_factors import authenticator_of, code_of, wrong_code

MINUTE = 1_800_000_010.0
HERE, THERE = "192.0.2.1", "198.51.100.2"
PAGE = "/account/login"
DOORS = [PAGE, "/v1/auth/token"]


class CountingHasher(MD5PasswordHasher):
    """Count how many hashes were computed and checked."""

    count = 0

    def encode(self, password, salt):
        """Count the hash, then compute it."""
        type(self).count += 1
        return super().encode(password, salt)


@pytest.fixture
def hashed(settings, staff):
    """Return a function that returns how many hashes were computed since the test began."""
    settings.PASSWORD_HASHERS = [f"{__name__}.CountingHasher"]
    before = CountingHasher.count
    return lambda: CountingHasher.count - before


@pytest.fixture(autouse=True)
def _one_window(monkeypatch):
    """Stop the clock, so that all requests of a test fall into the same minute."""
    stop_clock(monkeypatch, "config.api.rate_limits", MINUTE)


@pytest.fixture
def staff(db):
    """Return a staff user with access to every log-in."""
    return UserFactory(username="boss", is_staff=True, is_superuser=True)


def log_in(door, address=HERE, *, username="boss", password=PASSWORD, **headers):
    """Try to log in; return the response status."""
    return answer_of(door, address, username=username, password=password, **headers).status_code


def answer_of(door, address=HERE, *, username="boss", password=PASSWORD, **headers):
    body = {"username": username, "password": password}
    if door == PAGE:
        return Client(REMOTE_ADDR=address, headers=headers).post(door, {"login": username, "password": password})
    return ApiClient(REMOTE_ADDR=address).send(door, body, **headers)


def fail(times, address=HERE):
    for _ in range(times):
        with suppress(InvalidToken, RateLimited), login_attempt("boss", address):
            raise InvalidToken


def came_in(door, status):
    """Return whether a status is that of a successful log-in."""
    return status == (302 if door == PAGE else 200)


@pytest.mark.parametrize("door", DOORS)
def test_ten_wrong_passwords_from_one_ip_do_not_block_other_ips(staff, hashed, door):
    failed = {log_in(door, password="wrong") for _ in range(10)}
    assert failed == {200 if door == PAGE else 401}
    assert log_in(door, password="wrong") == 429
    assert hashed() == 10, "a refused try is not hashed"
    assert log_in(door) == 429, "the right one waits too, or the limit would tell which guess was right"
    assert came_in(door, log_in(door, THERE))


@pytest.mark.parametrize("door", DOORS)
def test_failed_log_ins_behind_a_trusted_proxy_count_toward_the_limit_of_the_client_ip(staff, settings, door):
    settings.TRUSTED_PROXIES = frozenset({"10.0.0.1"})
    fail(9)
    log_in(door, "10.0.0.1", password="wrong", X_Forwarded_For=HERE)
    assert log_in(door, "10.0.0.1", X_Forwarded_For=HERE) == 429
    assert came_in(door, log_in(door, "10.0.0.1", X_Forwarded_For=THERE))


def test_log_in_with_a_malformed_forwarded_address_is_accepted(staff, settings):
    settings.TRUSTED_PROXIES = frozenset({"10.0.0.1"})
    for reported in ("unknown", "192.0.2.1:4711", "fe80::1%eth0", "x" * 300, ""):
        assert log_in(PAGE, "10.0.0.1", password="wrong", X_Forwarded_For=reported) == 200
        assert came_in(PAGE, log_in(PAGE, "10.0.0.1", X_Forwarded_For=reported))


def test_each_log_in_attempt_is_logged_with_ip_address_without_user_name(staff, settings, caplog):
    settings.TRUSTED_PROXIES = frozenset({"10.0.0.1"})
    with caplog.at_level("INFO", "platform.log_ins"):
        for door in DOORS:
            log_in(door, "10.0.0.1", password="wrong", X_Forwarded_For=HERE)
            log_in(door, "10.0.0.1", X_Forwarded_For=HERE)
    lines = [line.getMessage() for line in caplog.records if line.name == "platform.log_ins"]
    assert [line.split(",")[0] for line in lines] == [
        f"log-in {how} from {HERE}" for how in ("failed", "succeeded")
    ] * 2
    assert len({line.split(",")[1] for line in lines}) == 1
    assert "boss" not in str(lines)


def test_log_in_attempts_on_all_pages_and_endpoints_share_a_limit(staff):
    fail(8)
    for door in DOORS:
        log_in(door, password="wrong")
    assert [log_in(door) for door in DOORS] == [429, 429]
    page = answer_of(PAGE)
    assert page.headers["Content-Type"].startswith("text/html")
    assert page.headers["Retry-After"] == "891"
    assert "Too many tries. Try again in 15 minutes." in page.content.decode()


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "addresses", [[HERE] * 3, [f"2001:db8:0:1::{number}" for number in range(3)]], ids=["v4", "v6"]
)
def test_ip_address_or_network_is_limited_to_60_log_in_attempts_a_minute(staff, hashed, door, addresses):
    consume("token", network_of(addresses[0]), permits=58)
    answers = [log_in(door, address, username=f"nobody{number}") for number, address in enumerate(addresses)]
    assert [answer == 429 for answer in answers] == [False, False, True]
    assert hashed() == 2
    assert log_in(door, THERE, username="nobody0") != 429


def test_user_name_is_locked_after_100_failures_an_hour(staff, monkeypatch):
    for number in range(10):
        # Two of these failures are rejected and do not count toward the limit of the name.
        fail(12, f"203.0.113.{number}")
    refused = answer_of("/v1/auth/token", THERE)
    assert_error(refused, 429, "E6001")
    assert refused.headers["RateLimit-Policy"] == '"login_name";q=100;w=3600'
    assert 60 < int(refused.headers["Retry-After"]) <= 3600
    assert log_in("/v1/auth/token", THERE, username=UserFactory().username) == 200
    stop_clock(monkeypatch, "config.api.rate_limits", MINUTE + 3600)
    assert log_in("/v1/auth/token", THERE) == 200


def test_prune_retains_an_hourly_log_in_counter_for_one_hour(staff):
    fail(50)
    log_in("/v1/auth/token", password="wrong")
    prune(now=datetime.fromtimestamp(MINUTE + 600, UTC))
    used = RateCounter.objects.get(bucket="login_name:boss").used
    assert used == 10, "attempts from a locked IP address do not count for the user name"
    assert prune(now=datetime.fromtimestamp(MINUTE + 3900, UTC))["rate_counters"] >= 1
    assert not RateCounter.objects.filter(bucket="login_name:boss").exists()


@pytest.fixture
def shut_out(staff):
    """Use up the failures that the name's limit allows."""
    for number in range(10):
        fail(10, f"203.0.113.{number}")
    assert log_in("/v1/auth/token", THERE) == 429


def known_browser(username="boss"):
    """Return a logged-out browser in which the user has logged in before."""
    browser = Client(REMOTE_ADDR=HERE)
    assert browser.post(PAGE, {"login": username, "password": PASSWORD}).status_code == 302
    del browser.cookies["sessionid"]
    return browser


class TestKnownDevice:
    def come_in(self, browser, password=PASSWORD, username="boss", **options):
        return browser.post(PAGE, {"login": username, "password": password}, **options).status_code

    def test_failed_log_ins_from_other_devices_do_not_lock_a_known_device(self, staff, request):
        browser = known_browser()
        kept = browser.cookies["known_device"]
        assert (kept["httponly"], kept["samesite"], kept["max-age"]) == (True, "Lax", 180 * 86_400)
        assert "boss" not in kept.value
        request.getfixturevalue("shut_out")
        assert self.come_in(browser, REMOTE_ADDR=THERE) == 302
        fail(10)
        assert log_in(PAGE) == 429
        assert self.come_in(browser) == 302, "at the locked IP address"

    def test_failed_log_ins_on_a_known_device_have_a_separate_limit(self, staff):
        browser = known_browser()
        for number in range(10):
            assert self.come_in(browser, "wrong", REMOTE_ADDR=f"203.0.113.{number}") == 200
        assert self.come_in(browser, REMOTE_ADDR=THERE) == 429
        assert log_in(PAGE) == 302

    def test_known_device_cookie_is_valid_for_one_account_and_password(self, staff, request):
        other, changed = UserFactory(username="chief", is_staff=True), known_browser()
        another, bent = known_browser("chief"), known_browser()
        bent.cookies["known_device"] = bent.cookies["known_device"].value.replace(":", ":x", 1)
        staff.set_password(PASSWORD)
        staff.save()
        request.getfixturevalue("shut_out")
        for browser in (changed, another, bent):
            assert self.come_in(browser, REMOTE_ADDR=THERE) == 429
        assert self.come_in(another, username=other.username, REMOTE_ADDR=THERE) == 302

    @pytest.mark.parametrize("has_second_factor", [False, True])
    def test_owner_can_log_in_after_a_password_reset_while_the_user_name_is_locked(
        self, staff, request, has_second_factor
    ):
        confirm(staff, "boss@example.com")
        if has_second_factor:
            authenticator_of(staff)
        request.getfixturevalue("shut_out")
        browser = Client(REMOTE_ADDR=THERE)
        page = browser.post(PAGE, {"login": "boss", "password": PASSWORD})
        assert page.status_code == 429
        assert reverse("account_reset_password") in page.content.decode()
        browser.post(reverse("account_reset_password"), {"email": "boss@example.com"})
        new = {"password1": "a new one, and long", "password2": "a new one, and long"}
        assert follow(browser, link_in(mailed()[0]), new).status_code == 302
        assert self.come_in(browser, "a new one, and long") == 302
        assert (browser.get("/account/").status_code == 302) == has_second_factor
        assert self.come_in(Client(REMOTE_ADDR=THERE), "a new one, and long") == 429


class TestSecondFactor:
    @pytest.fixture
    def device(self, staff):
        return authenticator_of(staff)

    def ask(self, code, *, password=PASSWORD, address=THERE):
        body = {"username": "boss", "password": password, "otp": code}
        return ApiClient(REMOTE_ADDR=address).send("/auth/token", body)

    def test_valid_second_factor_code_bypasses_the_user_name_lockout(self, device, shut_out, hashed):
        refused = [self.ask(wrong_code()) for _ in range(3)]
        assert [request.headers["RateLimit-Policy"] for request in refused] == ['"login_name";q=100;w=3600'] * 3
        assert hashed() == 0, "a stranger does not guess"
        assert self.ask(code_of(), password="wrong").status_code == 401
        assert self.ask(code_of()).status_code == 200

    def test_wrong_one_time_codes_count_toward_the_ip_log_in_limit(self, device, shut_out):
        refused = [self.ask(wrong_code()) for _ in range(11)]
        assert refused[-1].headers["RateLimit-Policy"] == '"login_failure";q=10;w=900'
        assert self.ask(code_of()).status_code == 429

    def test_valid_code_on_the_log_in_page_bypasses_the_user_name_lockout(self, device, staff, shut_out, settings):
        settings.BACKOFFICE_SECOND_FACTOR = True
        browser = Client(REMOTE_ADDR=THERE)
        browser.force_login(staff, backend="django.contrib.auth.backends.ModelBackend")
        assert browser.post("/account/second-factor/confirm", {"code": code_of()}).status_code == 302


@pytest.mark.parametrize("door", DOORS)
def test_failed_log_ins_of_an_ipv6_address_count_toward_the_limit_of_its_network(staff, door):
    fail(9, "2001:db8:0:1::1")
    log_in(door, "2001:db8:0:1::2", password="wrong")
    assert log_in(door, "2001:db8:0:1:ffff::") == 429
    assert came_in(door, log_in(door, "2001:db8:0:2::1"))


@pytest.mark.parametrize("door", DOORS)
def test_spellings_of_a_user_name_share_a_log_in_limit(staff, door):
    fail(5)
    for spelling in ("BOSS", "Boss", "\uff42\uff4f\uff53\uff53", " boss", "boss "):
        assert log_in(door, username=spelling, password="wrong") != 429
    assert log_in(door) == 429


@pytest.mark.parametrize("door", DOORS)
def test_successful_log_in_does_not_count_toward_the_limit(staff, door):
    assert all(came_in(door, log_in(door)) for _ in range(2))
    assert not RateCounter.objects.filter(bucket__startswith="login_").exclude(used=0).exists()


def test_wrong_one_time_codes_and_wrong_passwords_share_a_log_in_limit(staff, settings):
    settings.BACKOFFICE_SECOND_FACTOR = True
    authenticator_of(staff)
    browser = Client(REMOTE_ADDR=HERE)
    browser.force_login(staff, backend="django.contrib.auth.backends.ModelBackend")
    fail(8)
    answers = [browser.post("/account/second-factor/confirm", {"code": wrong_code()}) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert "Try again in 15 minutes." in answers[-1].content.decode()
    assert log_in("/v1/auth/token") == 429


def test_concurrent_log_in_attempts_do_not_exceed_the_limit(committed, settings):
    UserFactory(username="boss")
    settings.PASSWORD_HASHERS = [f"{__name__}.CountingHasher"]
    before = CountingHasher.count

    def guess():
        return [log_in("/v1/auth/token", password="wrong") for _ in range(3)]

    answers = list(chain.from_iterable(run_concurrently(*[guess] * 12)))
    assert sorted(set(answers)) == [401, 429]
    assert answers.count(401) == CountingHasher.count - before <= 10


class SlowHasher(Argon2PasswordHasher):
    """Count the threads that hash at the same time; each blocks until the test releases it."""

    at_it, most, entered, let_go = 0, 0, threading.Semaphore(0), threading.Event()

    def encode(self, password, salt):
        """Block until the test releases the thread."""
        cls = SlowHasher
        cls.at_it += 1
        cls.most = max(cls.most, cls.at_it)
        cls.entered.release()
        cls.let_go.wait(10)
        cls.at_it -= 1
        return "argon2$of-a-test"


class SlowInTurn(hashers.PasswordHasher, SlowHasher):
    """Limit concurrent hashing, with the slow hasher inside."""


@pytest.fixture
def slow(monkeypatch):
    """Block both hashing slots until the test ends; yield an executor for further threads."""
    monkeypatch.setattr(hashers, "WAIT_SECONDS", 0.05)
    SlowHasher.most, SlowHasher.entered, SlowHasher.let_go = 0, threading.Semaphore(0), threading.Event()
    with ThreadPoolExecutor(6) as threads:
        busy = [threads.submit(SlowInTurn().encode, "a", "salt") for _ in range(2)]
        for _ in busy:
            assert SlowHasher.entered.acquire(timeout=10)
        yield threads
        SlowHasher.let_go.set()


def test_third_concurrent_password_hash_is_rejected_with_a_retryable_error(slow):
    for future in [slow.submit(SlowInTurn().encode, "a", "salt") for _ in range(4)]:
        with pytest.raises(Unavailable):
            future.result(10)
    assert SlowHasher.most == 2
    assert SlowHasher.at_it == 2


def test_log_in_fails_immediately_if_two_other_log_ins_wait_for_a_hashing_slot(slow, monkeypatch):
    monkeypatch.setattr(hashers, "WAIT_SECONDS", 10)
    waiting = [slow.submit(SlowInTurn().encode, "a", "salt") for _ in range(4)]
    refused = list(islice(as_completed(waiting, timeout=9), 2))
    assert all(isinstance(future.exception(), Unavailable) for future in refused)
    assert sum(future.done() for future in waiting) == 2, "the others wait on"
    SlowHasher.let_go.set()
    assert sum(future.exception(10) is None for future in waiting) == 2


@pytest.mark.parametrize("door", DOORS)
def test_a_log_in_rejected_because_of_overload_does_not_count_toward_the_limit(staff, settings, slow, door):
    settings.PASSWORD_HASHERS = [f"{__name__}.SlowInTurn"]
    answer = answer_of(door, username="nobody")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert "The server is processing too many log-ins" in answer.content.decode()
    assert not RateCounter.objects.filter(bucket__startswith="login_").exclude(used=0).exists()


def test_passwords_are_hashed_by_argon2():
    preferred = import_string(project_settings.PASSWORD_HASHERS[0])()
    encoded = preferred.encode("secret words", preferred.salt())
    assert encoded.startswith("argon2$argon2id$")
    assert preferred.verify("secret words", encoded)
    assert not preferred.verify("other words", encoded)
