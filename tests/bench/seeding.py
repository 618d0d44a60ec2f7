"""Create and fill the databases of the benchmarks, and create credentials for callers.

Each number of rows has a database, `<name>_<rows>`, which later runs reuse. All its rows belong to the account
`reader`, with IDs in the order of time, so that the reader's list has this number of applications. Requests write for
the account `writer`, so that the length of the reader's list does not change.

`python -m tests.bench.seeding ROWS`, with the environment of a database, prints the `Facts` as a line of JSON.
"""

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from urllib.parse import urlsplit

import psycopg

from tests.processes import ROOT, create_database, drop_database

SERVER = os.environ.get("BENCH_DATABASE_URL", "postgres://postgres@127.0.0.1/bench_platform")
SAMPLE = 1000  # the number of IDs for single reads
MOVERS = ("platform", "bare", "stock", "fastapi")
MOVED = 400  # the number of applications whose status each server changes back and forth
APPLICATION_DATA = (
    '{"income_cents":5200000,"purpose":"car","employment":{"type":"salaried","months":31},"consents":[1,2]}'
)
OFFER_ID, PROVIDER_ID = 4_000_001, 900_000
# The first application is half a year older than the last, for every number of rows.
_SPAN_MS = 180 * 86_400_000

_FILL = """
INSERT INTO credit_application
    (id, consumer_id, offer_id, provider_id, status, initial_status, moves, application_data, data_changed_by_id,
     notes, share, counteroffer_moves, submitted_at, created_at, updated_at)
SELECT (lpad(to_hex(ms), 12, '0') || '7' || substr(digest, 1, 3) || 'a' || substr(digest, 4, 15))::uuid,
       %(owner)s, %(offer)s, %(provider)s, %(status)s, 'draft', 0, %(data)s, %(owner)s, 'Row ' || n, '[]', 0,
       to_timestamp(ms / 1000.0) + '2 microseconds'::interval,
       to_timestamp(ms / 1000.0) + '1 microsecond'::interval, to_timestamp(ms / 1000.0) + '2 microseconds'::interval
FROM (SELECT n, md5(n::text || %(status)s || %(provider)s) AS digest,
             %(first)s::bigint + n * (%(span)s::bigint / %(rows)s) AS ms
      FROM generate_series(1, %(rows)s) AS n) AS numbered
"""


@dataclass
class Facts:
    """The data for requests: account IDs, credentials, and application IDs."""

    reader_id: int
    writer_id: int
    reader_token: str
    writer_token: str
    api_key: str
    secret: str
    public_key: str
    sample: list[str]
    moved: dict[str, list[str]]


def address(rows: int) -> str:
    """Return the URL of the database of this size."""
    return f"{SERVER}_{rows}"


def environment(rows: int, **more: str) -> dict[str, str]:
    """Return the environment of a process that uses the database of this size."""
    inherited = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG", "TMPDIR"}}
    return {
        **inherited,
        "PYTHONPATH": str(ROOT),
        "ENVIRONMENT": "development",
        "VAR_DIR": str(ROOT / "var" / "bench"),
        "DATABASE_URL": address(rows),
        # These values are constant, so that later runs can decrypt the stored data. They protect no secret.
        "SECRET_KEY": "only-for-measurements-" * 3,
        "FIELD_ENCRYPTION_KEYS": "YmVuY2gtYmVuY2gtYmVuY2gtYmVuY2gtYmVuY2gtYmU=",
        "DJANGO_SETTINGS_MODULE": "tests.bench.settings",
        **more,
    }


def drop(rows: int) -> None:
    """Drop the database of this size."""
    drop_database(SERVER, _name(rows))


def _name(rows: int) -> str:
    return urlsplit(address(rows)).path.lstrip("/")


def prepare(rows: int) -> Facts:
    """Create and fill the database of this size if it does not exist; return new credentials."""
    with contextlib.suppress(psycopg.errors.DuplicateDatabase):
        create_database(SERVER, _name(rows))
    return fill(rows, environment(rows))


def fill(rows: int, environment: dict[str, str]) -> Facts:
    """Fill the database of an environment if rows are missing; return new credentials."""
    return Facts(**printed_by("tests.bench.seeding", str(rows), environment=environment))


def printed_by(module: str, *arguments: str, environment: dict[str, str]) -> dict:
    """Run a module in a separate process; return the JSON of the last line of its output."""
    command = [sys.executable, "-m", module, *arguments]
    run = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(run.stdout.splitlines()[-1])


def _fill(connection: psycopg.Connection, **parameters: object) -> None:
    """Insert applications of one account, evenly distributed over the last 180 days."""
    row = connection.execute("SELECT (extract(epoch FROM now()) * 1000)::bigint").fetchone()
    first = row[0] - _SPAN_MS - 60_000
    values = {"data": APPLICATION_DATA, "offer": OFFER_ID, "first": first, "span": _SPAN_MS, **parameters}
    # Client-side binding, because the server cannot infer the types of parameters in a SELECT list.
    psycopg.ClientCursor(connection).execute(_FILL, values)


def _create_facts(rows: int) -> Facts:
    """Fill the configured database, issue tokens to the accounts `reader` and `writer`, and create an API key."""
    import django

    django.setup()
    from cryptography.hazmat.primitives import serialization
    from django.core.management import call_command
    from django.utils import timezone

    from credit.models import Offer, Provider
    from identity.access import keys, tokens
    from identity.access.signing_keys import key_ring
    from identity.models import SigningKey, User

    call_command("migrate", verbosity=0)
    now = timezone.now()
    reader, _ = User.objects.get_or_create(username="reader")
    writer, _ = User.objects.get_or_create(username="writer")
    provider, _ = Provider.objects.get_or_create(id=str(PROVIDER_ID), defaults={"owner": writer, "created_at": now})
    Offer.objects.get_or_create(
        id=OFFER_ID,
        defaults={
            "provider": provider, "owner": writer, "name": "Everyday loan", "product_type": "personal_loan",
            "created_at": now, "updated_at": now,
        },
    )  # fmt: skip
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        plan = connection.execute("SELECT count(*) FROM credit_application WHERE consumer_id = %s", [reader.pk])
        if plan.fetchone()[0] != rows:
            connection.execute("DELETE FROM credit_application WHERE consumer_id = %s", [reader.pk])
            _fill(connection, owner=reader.pk, status="submitted", rows=rows, provider=PROVIDER_ID)
        moved = {}
        for number, name in enumerate(MOVERS, start=1):
            scope = [writer.pk, PROVIDER_ID + number]
            where = "FROM credit_application WHERE consumer_id = %s AND provider_id = %s"
            if connection.execute(f"SELECT count(*) {where}", scope).fetchone()[0] != MOVED:
                _fill(connection, owner=writer.pk, status="under_review", rows=MOVED, provider=PROVIDER_ID + number)
            moved[name] = [str(row[0]) for row in connection.execute(f"SELECT id {where} ORDER BY id", scope)]
        connection.execute("VACUUM (ANALYZE) credit_application")
        step = max(1, rows // SAMPLE)
        sample = connection.execute(
            "SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM credit_application"
            " WHERE consumer_id = %s) AS numbered WHERE n %% %s = 0",
            [reader.pk, step],
        )
        ids = [str(row[0]) for row in sample]
    now = timezone.now()  # a log-in before the creation of the accounts would be invalid
    # Each call creates a key, and an account's keys have different names.
    issued = keys.create_api_key(owner=reader, name=f"bench {now.isoformat()}", scopes=None, now=now)
    key_ring.signing()
    public = key_ring.verifying(SigningKey.objects.get(retires_at__isnull=True).kid)
    in_pem = (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return Facts(
        reader_id=reader.pk,
        writer_id=writer.pk,
        reader_token=tokens.start_family(user=reader, now=now).access_token,
        writer_token=tokens.start_family(user=writer, now=now).access_token,
        api_key=issued.key,
        secret=issued.secret,
        public_key=public.public_bytes(*in_pem).decode(),
        sample=ids,
        moved=moved,
    )


def reset_moved(rows: int) -> None:
    """Reset the applications that the servers move back and forth to `under_review`."""
    with psycopg.connect(address(rows), autocommit=True) as connection:
        connection.execute(
            "UPDATE credit_application SET status = 'under_review'"
            " WHERE provider_id BETWEEN %s AND %s AND status <> 'under_review'",
            [PROVIDER_ID + 1, PROVIDER_ID + len(MOVERS)],
        )


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(_create_facts(int(sys.argv[1])))) + "\n")
