"""Test that workers together do not exceed a rate limit, and that rejected callers get a retry time."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from types import SimpleNamespace
from uuid import uuid4

import pytest
from django.db import OperationalError, connection, connections

from config.api import rate_limits
from config.api.models import RateCounter
from config.api.rate_limits import RateLimited
from config.core.proxies import client_address
from config.env import ip_networks
from tests.api import ApiClient, assert_error, bearer_of
from tests.identity.support import issue, stop_clock
from tests.processes import free_port

SQLITE_PAGES_MAX = 1_073_741_823
NOON = 1_800_000_000.0


def spent(limit, whom, *, now=NOON):
    """Return whether a permit was available."""
    try:
        rate_limits.consume(limit, whom, now=now)
    except RateLimited:
        return False
    return True


class Worker:
    """The rate limits of one worker process: its own batches of permits, the shared counter."""

    def __init__(self):
        self.lots = {}

    def spend(self, monkeypatch, whom):
        """Consume one permit in this worker."""
        monkeypatch.setattr(rate_limits, "_lots", self.lots)
        return spent("read", whom)


@pytest.mark.django_db
class TestBound:
    def test_worker_grants_exactly_the_rate_limit(self, settings):
        for limit in (0, 1, 2, 7, 64, 100, 500):
            settings.RATE_LIMITS = {"read": limit}
            assert sum(spent("read", f"caller {limit}") for _ in range(limit + 20)) == limit

    @pytest.mark.parametrize(("limit", "workers"), [(1, 3), (10, 4), (200, 3), (1000, 8)])
    def test_several_workers_together_grant_exactly_the_rate_limit(self, settings, monkeypatch, limit, workers):
        settings.RATE_LIMITS = {"read": limit}
        crowd = [Worker() for _ in range(workers)]
        allowed = sum(crowd[turn % workers].spend(monkeypatch, "a") for turn in range(limit + 50 * workers))
        assert allowed == limit

    def test_idle_worker_wastes_at_most_one_batch_of_rate_permits(self, settings, monkeypatch):
        settings.RATE_LIMITS = {"read": 1000}
        lazy, busy = Worker(), Worker()
        allowed = sum(lazy.spend(monkeypatch, "a") for _ in range(100))
        allowed += sum(busy.spend(monkeypatch, "a") for _ in range(1500))
        assert 1000 - rate_limits.LOT_MAX <= allowed <= 1000

    def test_granting_1000_rate_permits_executes_at_most_25_sql_statements(
        self, settings, django_assert_max_num_queries
    ):
        settings.RATE_LIMITS = {"read": 100_000}
        with django_assert_max_num_queries(25):
            assert all(spent("read", "a") for _ in range(1000))

    def test_each_caller_and_rate_limit_has_a_separate_counter(self, settings):
        settings.RATE_LIMITS = {"read": 2, "write": 2}
        assert [spent(limit, whom) for limit in ("read", "write") for whom in ("a", "b") for _ in range(3)] == [
            True, True, False,
        ] * 4  # fmt: skip

    def test_each_minute_has_a_new_rate_counter(self, settings):
        settings.RATE_LIMITS = {"read": 3}
        for minute in range(3):
            now = NOON + 60 * minute
            assert [spent("read", "a", now=now) for _ in range(4)] == [True, True, True, False]

    def test_request_for_several_rate_permits_gets_all_permits_or_no_permit(self, settings):
        settings.RATE_LIMITS = {"read": 100}

        def took(permits):
            try:
                rate_limits.consume("read", "a", permits=permits, now=NOON)
            except RateLimited:
                return False
            return True

        assert [took(60), took(50), took(40), took(1)] == [True, False, True, False]

    def test_rate_limit_without_a_value_permits_every_request(self, settings, django_assert_num_queries):
        settings.RATE_LIMITS = {"read": None}
        with django_assert_num_queries(0):
            assert all(spent("read", "a") for _ in range(100))

    def test_rate_permit_cache_has_a_limited_size(self, settings, monkeypatch):
        settings.RATE_LIMITS = {"read": 2}
        monkeypatch.setattr(rate_limits, "_KEPT_BUCKETS", 3)
        for number in range(10):
            assert spent("read", f"caller {number}")
            assert len(rate_limits._lots) <= 3
        assert [spent("read", "caller 0"), spent("read", "caller 0")] == [True, False]

    def test_rate_counter_stores_the_hash_of_a_long_name(self, settings):
        settings.RATE_LIMITS = {"read": 1}
        assert [spent("read", "x" * 1000), spent("read", "x" * 1000), spent("read", "y" * 1000)] == [True, False, True]
        assert max(len(counter.bucket) for counter in RateCounter.objects.all()) <= 160


def test_concurrent_threads_do_not_exceed_the_rate_limit(committed, settings):
    settings.RATE_LIMITS = {"read": 50}
    gate = threading.Barrier(8)

    def take_many():
        try:
            gate.wait()
            return sum(spent("read", "a") for _ in range(15))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as threads:
        allowed = sum(future.result() for future in [threads.submit(take_many) for _ in range(8)])
    allowed += sum(spent("read", "a") for _ in range(50))
    assert allowed == 50
    assert RateCounter.objects.get().used >= 50


HOPS = [
    ("203.0.113.7:51234", "203.0.113.7"), ("203.0.113.7", "203.0.113.7"),
    ("[2001:db8::1]:443", "2001:db8::1"), ("[2001:db8::1]", "2001:db8::1"), ("2001:db8::1", "2001:db8::1"),
    ("198.51.100.1, 203.0.113.7:1, 10.2.3.4, 10.9.9.9:8080", "203.0.113.7"),
    ("198.51.100.1,203.0.113.7:1,[fd00::5]:1", "203.0.113.7"), ("10.2.3.4", "10.0.0.1"), ("", "10.0.0.1"),
    ("[2001:db8::1]:443, 10.2.3.4:80", "2001:db8::1"), ("198.51.100.9 , 203.0.113.7 ", "203.0.113.7"),
    ("203.0.113.7:99999", "203.0.113.7"), ("203.0.113.7,fd00::5", "203.0.113.7"),
    ("203.0.113.7, [fd12:3456::1]:9", "203.0.113.7"), ("_hidden, 203.0.113.7", "203.0.113.7"),
    # The addresses have forms of RFC 4291 and RFC 5952, or belong to public resolvers and root servers.
    ("2001:4860:4860::8888, FD00::5", "2001:4860:4860::8888"), ("[2620:fe::fe]:65535", "2620:fe::fe"),
    ("2001:500:2::c, fd00:0000:0000:0000:0000:0000:0000:0005", "2001:500:2::c"),
    ("2606:4700:4700::1111, fd00:0:0:0:0:0:192.0.2.1", "2606:4700:4700::1111"),
    ("2001:7fd::1, ::ffff:10.2.3.4", "2001:7fd::1"), ("2001:7fe::53, [::ffff:10.2.3.4]:443", "2001:7fe::53"),
    ("2001:500:9f::42, ::ffff:0a02:0304", "2001:500:9f::42"), ("2801:1b8:10::b, fdff::", "2801:1b8:10::b"),
    ("fd00::5, 2a00:1450:4001:80b::200e", "2a00:1450:4001:80b::200e"), ("fc00::1, fd00::1", "fc00::1"),
    ("[2a03:2880:f12f:83:face:b00c:0:25de]", "2a03:2880:f12f:83:face:b00c:0:25de"),
    # These are several spellings of a caller's address, and placeholders of Squid and RFC 7239 for an address.
    ("::ffff:203.0.113.7", "203.0.113.7"), ("[::FFFF:cb00:7107]:51234", "203.0.113.7"),
    ("2001:DB8:0:0::1", "2001:db8::1"), ('"[2001:db8::1]:51234"', "2001:db8::1"),
    ("203.0.113.7, unknown", "10.0.0.1"), ("_gazonk, 10.2.3.4:80", "10.2.3.4"), ("-", "10.0.0.1"),
]  # fmt: skip


# The networks are from RFC 4632, RFC 4291, and typical cloud load balancers and meshes.
NETWORKS = [
    ("::1", "::1", "::2"), ("fd00::/8", "fdff:ffff::1", "fe00::1"), ("fe80::/10", "febf::1", "fec0::1"),
    ("2600:1901::/48", "2600:1901:0:ffff::1", "2600:1901:1::1"), ("FD12:3456::/32", "fd12:3456::9", "fd12::"),
    ("2400:cb00::/32", "2400:CB00:1::1", "2400:cb01::1"),
    ("2606:4700::/32", "2606:4700::6810:1", "2606:4701::"),
    ("2a06:98c0::/29", "2a06:98c7:ffff::1", "2a06:98c8::1"),
    ("fd00:ec2::254/128", "fd00:ec2::254", "fd00:ec2::"),
    ("10.0.0.0/8", "::ffff:10.1.2.3", "::ffff:11.1.2.3"), ("fc00::/7", "fd00::1", "::ffff:10.0.0.1"),
    ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1", "2001:db8::1"),
    ("64:ff9b::/96", "64:ff9b::10.1.2.3", "64:ff9c::1"), ("::ffff:10.0.0.0/104", "10.1.2.3", "11.1.2.3"),
    ("::ffff:192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"),
]  # fmt: skip


@pytest.mark.django_db
class TestRateLimitedResponses:
    @pytest.fixture(autouse=True)
    def _clock(self, monkeypatch):
        stop_clock(monkeypatch, "config.api.rate_limits", NOON + 12.5)

    def test_a_rate_limited_response_has_retry_after(self, api, settings):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "read": 2}
        assert [api.read("/applications").status_code for _ in range(2)] == [200, 200]
        response = api.read("/applications")
        assert_error(response, 429, "E6001")
        assert response.headers["Retry-After"] == "48"
        assert response.headers["RateLimit-Policy"] == '"read";q=2;w=60'
        assert response.headers["RateLimit"] == '"read";r=0;t=48'

    def test_reads_and_writes_have_separate_rate_limits(self, api, user, settings):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "read": 1, "write": 1}
        body = {"consumer_id": str(user.pk), "offer_id": 1, "provider_id": 1}
        assert api.read("/applications").status_code == 200
        assert api.send("/applications", body).status_code == 201
        assert_error(api.read("/applications"), 429, "E6001")
        assert_error(api.send("/applications", body), 429, "E6001")

    def test_all_credentials_of_an_account_share_a_rate_limit(self, user, stranger_api, settings):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "read": 3, "write": 1}
        own = [
            ApiClient(bearer=bearer_of(user)), ApiClient(bearer=bearer_of(user)), ApiClient(api_key=issue(user).key),
            ApiClient(api_key=issue(user, scopes=["applications:read", "offers:write"]).key),
        ]  # fmt: skip
        assert [client.read("/applications").status_code for client in own] == [200, 200, 200, 429]
        assert [client.send("/provider-offers", {}).status_code for client in own[2:]] == [400, 429]
        assert stranger_api.read("/applications").status_code == 200

    def test_scope_is_checked_before_the_rate_limit_and_the_rate_limit_before_the_body(self, api, settings, user):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "write": 0}
        assert_error(api.send("/applications", raw=b"not json", content_type="text/plain"), 429, "E6001")
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "read": 0}
        client = ApiClient(api_key=issue(user, scopes=["webhooks"]).key)
        assert_error(client.read("/applications"), 403, "E2005")

    def test_anonymous_requests_are_rate_limited_by_ip_address(self, settings):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "anonymous": 2}
        here, there = ApiClient(REMOTE_ADDR="192.0.2.1"), ApiClient(REMOTE_ADDR="192.0.2.2")
        assert [here.read("/openapi.json").status_code for _ in range(3)] == [200, 200, 429]
        assert there.read("/openapi.json").status_code == 200

    @pytest.mark.parametrize(
        ("first", "second", "together"),
        [
            ("2001:db8:1:1::1", "2001:db8:1:ffff:a:b:c:d", True), ("2001:db8:1:1::1", "2001:db8:2:1::1", False),
            ("::ffff:192.0.2.1", "192.0.2.1", True), ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ],
    )  # fmt: skip
    def test_ipv6_addresses_of_one_site_share_a_rate_limit(self, settings, first, second, together):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "anonymous": 1}
        answers = [ApiClient(REMOTE_ADDR=address).read("/openapi.json").status_code for address in (first, second)]
        assert answers == [200, 429 if together else 200]

    def test_guessed_credentials_count_toward_the_ipv6_site_rate_limit(self, settings):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "anonymous": 2}
        guesses = [ApiClient(bearer="guess", REMOTE_ADDR=f"2001:db8:1:{number}::1") for number in range(3)]
        assert [client.read("/applications").status_code for client in guesses] == [401, 401, 429]

    def test_client_ip_is_taken_from_a_trusted_proxy(self, settings):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "anonymous": 1}
        settings.TRUSTED_PROXIES = frozenset({"10.0.0.1"})
        proxy, stranger = ApiClient(REMOTE_ADDR="10.0.0.1"), ApiClient(REMOTE_ADDR="192.0.2.9")

        def status(client, hops):
            return client.read("/openapi.json", X_Forwarded_For=hops).status_code

        assert [status(proxy, "192.0.2.1"), status(proxy, "192.0.2.1"), status(proxy, "192.0.2.2")] == [200, 429, 200]
        # The caller can forge all hops before the address that our proxy saw.
        assert [status(proxy, "1.1.1.1, 192.0.2.3"), status(proxy, "2.2.2.2, 192.0.2.3, 10.0.0.1")] == [200, 429]
        assert [status(stranger, "3.3.3.3"), status(stranger, "4.4.4.4")] == [200, 429]

    def test_client_ip_is_the_last_forwarded_address_outside_of_the_proxies(self, settings, monkeypatch):
        for hops, caller in HOPS:
            monkeypatch.setenv("TRUSTED_PROXIES", "10.0.0.0/8, fd00::/8")
            settings.TRUSTED_PROXIES = ip_networks("TRUSTED_PROXIES")
            meta = {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": hops}
            assert client_address(SimpleNamespace(META=meta)) == caller, (hops, caller)

    def test_trusted_proxy_network_matches_every_spelling_of_its_addresses(self, monkeypatch):
        for network, inside, outside in NETWORKS:
            monkeypatch.setenv("TRUSTED_PROXIES", network)
            assert (inside in ip_networks("TRUSTED_PROXIES"), outside in ip_networks("TRUSTED_PROXIES")) == (
                True,
                False,
            )

    def test_failed_requests_count_toward_the_rate_limit(self, api, settings):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "write": 2}
        assert [api.send("/applications", {}).status_code for _ in range(3)] == [400, 400, 429]


@pytest.fixture
def at(settings, monkeypatch):
    """Use the Redis at an address for the counters."""

    def use(address):
        settings.REDIS_URL = address
        redis = "django.core.cache.backends.redis.RedisCache"
        settings.CACHES = {"default": {"BACKEND": redis, "LOCATION": address, "KEY_PREFIX": uuid4().hex}}
        monkeypatch.setattr(rate_limits, "_redis_avoided_until", 0.0)

    return use


@pytest.mark.django_db
class TestUnavailableRedis:
    def test_rate_counters_use_the_database_while_redis_is_unavailable(self, at, settings, monkeypatch):
        at(f"redis://127.0.0.1:{free_port()}/0")
        settings.RATE_LIMITS = {"read": 10}
        crowd = [Worker() for _ in range(3)]
        assert sum(crowd[turn % 3].spend(monkeypatch, "a") for turn in range(40)) == 10
        assert RateCounter.objects.exists()
        assert rate_limits._redis_avoided_until > 0, "it is not asked again at each call"

    def test_rate_limited_requests_succeed_while_redis_is_unavailable(self, at, api):
        at(f"redis://127.0.0.1:{free_port()}/0")
        assert api.read("/applications").status_code == 200


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL cannot be given a disk of its own here")
def test_reads_succeed_and_writes_return_503_on_a_full_disk(api, user):
    with connection.cursor() as cursor:
        # The limit is below the present size, so the database can't grow.
        cursor.execute("PRAGMA max_page_count = 1")
        try:
            # Fill all pages. An insert of many rows stores none if one doesn't fit, so smaller inserts follow.
            for length, rows in ((100, 500), (100, 1), (20, 1), (1, 1)):
                with suppress(OperationalError):
                    for first in count(step=rows):
                        names = [f"r{length}-{rows}-{first + row}".ljust(length, "x") for row in range(rows)]
                        RateCounter.objects.bulk_create(RateCounter(bucket=item, window=1, used=1) for item in names)
            for name in ("anonymous:", "read:", "z"):
                with suppress(OperationalError):
                    for number in range(100_000):
                        RateCounter.objects.create(bucket=f"{name}{number}x", window=1, used=1)
            assert api.read("/applications").status_code == 200
            body = {"consumer_id": str(user.pk), "offer_id": 1, "provider_id": 1}
            assert_error(api.send("/applications", body), 503, "E5030")
        finally:
            cursor.execute(f"PRAGMA max_page_count = {SQLITE_PAGES_MAX}")
