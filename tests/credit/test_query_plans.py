"""Test that frequent requests on large tables use an index on PostgreSQL."""

import pytest
from django.db import connection, models
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.api.models import IdempotencyRecord
from credit.core.applicant_search import index_of
from credit.core.applicants import Applicants
from credit.core.figures import reference_of
from credit.models import Application, ApplicationHistory, LastScore, Score
from credit.scoring.evaluator import evaluate
from credit.scoring.scores import last_score, store_last_scores, store_score
from identity.access.authentication import forget_credentials
from identity.models import TokenFamily, UsedSignature
from tests.api import ApiClient, client_of
from tests.backoffice.conftest import backoffice_client
from tests.credit.applicants import PERSON
from tests.credit.scoring.cards import GOOD
from tests.credit.scoring.making import make_model, make_version
from tests.factories import ApplicationFactory, OfferFactory, UserFactory
from tests.identity.support import issue
from tests.properties import quick_or_full

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("needs_postgresql")]
ROWS, PEOPLE = quick_or_full(20_000, 40_000), 400
LARGE = (
    "credit_application", "credit_offer", "credit_provider", "credit_applicationhistory", "api_idempotencyrecord",
    "identity_tokenfamily", "identity_apikey", "identity_usedsignature", "identity_user", "credit_score",
)  # fmt: skip


def multiply(record, count, **columns):
    """Insert `count` copies of a record; `columns` are SQL expressions over `n` that make the copies unique.

    All other columns are copied from the record, so that a new column needs no change here.
    """
    model = type(record)
    names = [field.column for field in model._meta.concrete_fields if not isinstance(field, models.AutoField)]
    quoted = ", ".join(connection.ops.quote_name(name) for name in names)
    values = ", ".join(columns.get(name, f"original.{connection.ops.quote_name(name)}") for name in names)
    values = values.replace("%", "%%")
    table, key = model._meta.db_table, model._meta.pk.column
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({quoted}) SELECT {values} FROM {table} original, generate_series(1, {count}) n "
            f"WHERE original.{key} = %s",
            [record.pk],
        )


@pytest.fixture
def crowd(settings):
    """Fill the tables with records of other accounts; return an account with an average number of records."""
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS)
    person = UserFactory()
    api = client_of(person)
    multiply(person, PEOPLE, username="'crowd' || n")
    multiply(person, 10 * PEOPLE, username="'other' || n")  # A scan is as cheap with only 400 accounts.
    version = make_version(make_model(), role="champion")
    evaluation, now = evaluate(version.card, GOOD), timezone.now()
    score = store_score(version, GOOD, evaluation, purpose=Score.SHADOW, user_id=person.pk, now=now)
    multiply(score, ROWS, id="gen_random_uuid()", user_id=f"{person.pk} + n % {PEOPLE}")
    store_last_scores([last_score(version.model_id, version.card, evaluation, user_id=person.pk, now=now)])
    multiply(version.model, ROWS // PEOPLE)
    multiply(LastScore.objects.get(), ROWS // PEOPLE, model_id=f"{version.model_id} + n")
    offer = OfferFactory(is_active=False, blockscore_model_id=version.model_id)
    multiply(offer.provider, 500, id="'p' || n")
    multiply(offer, ROWS, provider_id="'p' || (1 + n % 500)", is_active="n % 20 = 0")
    application = ApplicationFactory(consumer=person)
    api.replace(f"/applications/{application.id}/status", {"status": "submitted", "updated_by": "me"}, key=True)
    multiply(
        application, ROWS, id="gen_random_uuid()", consumer_id=f"{person.pk} + n % {PEOPLE}", offer_id="n % 500",
        provider_id="n % 50", status="(ARRAY['draft', 'submitted', 'under_review', 'approved'])[1 + n % 4]",
    )  # fmt: skip
    multiply(ApplicationHistory.objects.get(), ROWS, id="gen_random_uuid()", position="n + 1")
    multiply(IdempotencyRecord.objects.get(), ROWS, id="gen_random_uuid()", key="gen_random_uuid()")
    multiply(TokenFamily.objects.first(), 5_000, id="gen_random_uuid()")
    multiply(issue(person).record, 5_000, id="lpad(n::text, 12, '0')", name_key="md5(n::text)")
    multiply(UsedSignature.objects.create(digest="0", expires_at=timezone.now()), 5_000, digest="md5(n::text)")
    with connection.cursor() as cursor:
        for table in LARGE:
            cursor.execute(f"ANALYZE {table}")
    return person


def whole_tables_read(calls):
    """Run calls; return (statement, plan) of each statement that scans a large table completely."""
    with CaptureQueriesContext(connection) as captured:
        for call in calls:
            response = call()
            assert response.status_code in {200, 201}, response.content
    results = []
    for query in captured.captured_queries:
        sql = query["sql"]
        if not sql.startswith(("SELECT", "UPDATE", "DELETE", "INSERT")) or "pg_try_advisory" in sql:
            continue
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {sql}")
            plan = "\n".join(line for (line,) in cursor.fetchall())
        if any(f"Seq Scan on {table}" in plan for table in LARGE):
            results.append((sql, plan))
    return results


def test_frequent_requests_do_not_scan_a_large_table(crowd):
    issued = issue(crowd)
    api, keyed = client_of(crowd), ApiClient(api_key=issued.key)
    body = {"consumer_id": str(crowd.pk), "offer_id": 999_999_999, "provider_id": 1}
    mine = api.send("/applications", body, key=True).json()["id"]
    offer = {"provider_id": "own", "name": "n", "product_type": "x"}
    offers = api.send("/provider-offers", offer, key=True).json()["id"]
    path = f"/applications/{mine}"
    calls = [
        lambda: api.read("/applications"), lambda: api.read("/applications?offset=50&limit=20"),
        lambda: api.read("/applications?status=approved"),
        lambda: api.read("/applications?status=approved&offer_id=3&provider_id=3"), lambda: api.read(path),
        lambda: keyed.read(path), lambda: api.read(f"{path}/history"),
        lambda: api.send("/applications", body, key=True),
        lambda: api.replace(path, {"updated_by": "me", "application_data": 1}, key=True),
        lambda: api.replace(f"{path}/status", {"status": "submitted", "updated_by": "me"}, key=True),
        lambda: api.read("/provider-offers?provider_id=p9"), lambda: api.read(f"/provider-offers/{offers}"),
        lambda: api.replace(f"/provider-offers/{offers}", {**offer, "name": "m"}),
        lambda: api.remove(f"/provider-offers/{offers}"), lambda: api.read("/ucp/catalog/items"),
        lambda: api.send("/offers/match", {"facts": {}}),
    ]  # fmt: skip
    forget_credentials()
    full_scans = whole_tables_read(calls)
    assert not full_scans, "\n\n".join(f"{sql}\n{plan}" for sql, plan in full_scans)


def test_applicant_searches_do_not_scan_a_large_table(crowd):
    client = backoffice_client(UserFactory(is_staff=True, is_superuser=True))
    persons = Applicants.of([PERSON])
    application = ApplicationFactory(applicants=persons, applicants_sha256=persons.sha256, amount_cents=1_234_567)
    index = index_of(application.applicants, application.applicants_sha256)
    Application.objects.filter(pk=application.pk).update(applicant_index=index)
    other = Application.objects.exclude(pk=application.pk).first()
    words = "' ' || md5('a' || n % 500) || ' ' || md5('b' || n) || ' ' || md5(n::text) || ' '"
    multiply(other, ROWS, id="gen_random_uuid()", applicant_index=words, amount_cents="n * 100")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE credit_application")
    address = "/admin/credit/application/"
    for typed in ("quillfeather", PERSON["email"], PERSON["phone"], "$12,345.67", reference_of(application.pk)):
        response = client.get(address, {"q": typed})
        assert [row.pk for row in response.context["cl"].result_list] == [application.pk], typed
        read = whole_tables_read([lambda typed=typed: client.get(address, {"q": typed})])
        assert not [plan for _sql, plan in read if "Seq Scan on credit_application" in plan], typed


def test_query_plan_check_detects_a_scan_of_a_large_table(crowd):
    class Answered:
        status_code, content = 200, b""

    def read_everything():
        list(Application.objects.filter(notes="nowhere"))
        return Answered

    assert whole_tables_read([read_everything])
