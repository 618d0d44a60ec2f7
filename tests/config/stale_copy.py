"""A replica that stands still: a copy of the test's database, which shows what was there when it was made."""

import contextlib
import sqlite3
import time
from uuid import uuid4

import psycopg
import pytest
from django.core.cache import cache
from django.db import connections
from redis.exceptions import RedisError

from config.core import replicas

REDIS = "redis://127.0.0.1:6379/9"
ALIAS = "replica1"


def needs_redis():
    """Skip where Redis is not to be reached."""
    import redis

    with contextlib.closing(redis.Redis.from_url(REDIS, socket_connect_timeout=1)) as client:
        try:
            client.ping()
        except redis.RedisError:
            pytest.skip(f"needs Redis at {REDIS}")


def _allow(connection):
    """Let a test connect to a database that it did not announce: it was not there when the test began."""

    def ensure_connection():
        if connection.connection is None:
            with connection.wrap_database_errors:
                connection.connect()

    connection.ensure_connection = ensure_connection


class StaleCopy:
    """The copy, as the database `replica1` of this process."""

    def __init__(self, settings, folder):
        self.settings = settings
        self.folder = folder
        self.made = ""

    def freeze(self):
        """Copy the primary as it is now, and let the copy count as near."""
        self.forget()
        primary = connections["default"]
        name = f"{primary.settings_dict['NAME']}_{uuid4().hex[:8]}"
        entry = {**primary.settings_dict}
        if primary.vendor == "sqlite":
            entry["NAME"] = str(self.folder / "copy.sqlite3")
            with contextlib.closing(sqlite3.connect(primary.settings_dict["NAME"])) as original:
                original.execute("VACUUM INTO ?", [entry["NAME"]])
            entry["OPTIONS"] = {**entry["OPTIONS"], "init_command": "PRAGMA query_only=ON;"}
        else:
            connections.close_all()
            # A database that somebody is connected to cannot be copied, and a test that failed may have left a server.
            original = primary.settings_dict["NAME"]
            self._on_server("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", original)
            self._on_server(f'CREATE DATABASE "{name}" TEMPLATE "{original}"')
            entry["NAME"] = self.made = name
            options = entry["OPTIONS"]
            entry["OPTIONS"] = {**options, "options": f"{options['options']} -c default_transaction_read_only=on"}
        connections.settings[ALIAS] = entry
        _allow(connections[ALIAS])
        self.settings.DATABASE_REPLICAS = (ALIAS,)
        self.settings.DATABASE_ROUTERS = ["config.core.replicas.ReplicaRouter"]
        self.is_near()
        replicas.look_at_memory()
        replicas._trusted_from = 0.0  # as a minute later

    def is_near(self):
        """Let the copy count as up to date for the rest of the test."""
        replicas.heard(ALIAS, holds_until=time.monotonic() + 3600)

    def forget_own_writes(self):
        """Let the time pass in which they are remembered."""
        cache.delete_many([f"own-writes:{account_id}" for account_id in range(10_000)])

    def forget(self):
        """Take the copy away."""
        if ALIAS in connections.settings:
            connections[ALIAS].close()
            with contextlib.suppress(AttributeError):
                delattr(connections._connections, ALIAS)
            del connections.settings[ALIAS]
        if self.made:
            self._on_server(f'DROP DATABASE "{self.made}" WITH (FORCE)')
            self.made = ""
        (self.folder / "copy.sqlite3").unlink(missing_ok=True)

    def _on_server(self, statement, *values):
        """Execute a statement in PostgreSQL's maintenance database."""
        wanted = {"user", "password", "host", "port"}
        given = connections["default"].get_connection_params()
        parameters = {name: value for name, value in given.items() if name in wanted}
        with psycopg.connect(**parameters, dbname="postgres", autocommit=True) as server:
            server.execute(statement, values)


@pytest.fixture
def stale_copy(committed, settings, tmp_path, monkeypatch, no_rate_limits):
    """A replica that is not made yet: `freeze` makes it, with what is in the database then."""
    needs_redis()
    settings.REDIS_URL = REDIS
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "config.core.replicas.WriterMiddleware"]
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": REDIS,
            "KEY_PREFIX": uuid4().hex,
            "OPTIONS": {"socket_connect_timeout": 1, "socket_timeout": 1},
        }
    }
    for name, value in (("_memory", ""), ("_trusted_from", 0.0), ("_holds_until", {}), ("_avoided_until", {})):
        monkeypatch.setattr(replicas, name, value)
    copy = StaleCopy(settings, tmp_path)
    yield copy
    settings.DATABASE_REPLICAS = ()
    copy.forget()
    with contextlib.suppress(RedisError):
        cache.clear()
