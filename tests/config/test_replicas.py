"""Reads from replicas: who is answered by one, and what never is. The replica here is a copy that stands still."""

import time

import pytest
from django.core.cache import cache
from django.db import ProgrammingError, connections, router, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from claims.models import Claim
from config.core import replicas
from config.core.errors import ApiError, Unavailable
from config.webhooks.events import record_event
from config.webhooks.publishing import publish_account
from credit.models import Application, Offer
from identity.access import keys
from identity.models import User
from staging.models import StagedItem
from tests.api import ApiClient, assert_error
from tests.config.stale_copy import ALIAS, stale_copy  # noqa: F401  a fixture
from tests.factories import ApplicationFactory, ClaimFactory, OfferFactory, StagedItemFactory, UserFactory
from tests.payments.card_support import process
from tests.payments.wallet_support import connected

pytestmark = pytest.mark.usefixtures("stale_copy")
OLD, NEW = "as the replica has it", "as it is now"


@pytest.fixture
def application(user, stale_copy):  # noqa: F811
    """An application of `user`, in the copy with other notes than now."""
    made = ApplicationFactory(consumer=user, notes=OLD)
    stale_copy.freeze()
    Application.objects.filter(pk=made.pk).update(notes=NEW)
    return made


def notes(api, application):
    """Return the notes that an account is shown."""
    answer = api.read(f"/applications/{application.pk}")
    assert answer.status_code == 200
    return answer.json()["notes"]


class TestWhoReadsFromAReplica:
    """A replica answers an account about its own records."""

    def test_somebody_who_has_not_written_lately(self, api, application):
        assert notes(api, application) == OLD
        (listed,) = api.read("/applications").json()
        assert listed["notes"] == OLD

    def test_not_who_has_just_written_and_again_later(self, api, application, stale_copy):  # noqa: F811
        assert api.send("/staging/items", {"kind": "note", "payload": {"text": "x"}}).status_code == 201
        assert notes(api, application) == NEW
        stale_copy.forget_own_writes()
        assert notes(api, application) == OLD

    def test_a_change_that_was_refused_counts_as_a_write(self, api, application):
        assert_error(api.replace(f"/applications/{application.pk}", {"updated_by": "me", "notes": 5}), 400, "E1001")
        assert notes(api, application) == NEW

    def test_not_who_was_told_of_an_event(self, api, user, application):
        now = timezone.now()
        record_event("wallet.connected", account_id=user.pk, now=now, wallet_id="w")
        assert notes(api, application) == OLD
        publish_account(user.pk, now=now)
        assert notes(api, application) == NEW

    def test_not_who_read_of_an_event_in_the_feed(self, api, user, application):
        record_event("wallet.connected", account_id=user.pk, now=timezone.now(), wallet_id="w")
        assert len(api.read("/webhooks/events").json()["events"]) == 1
        assert notes(api, application) == NEW

    def test_another_accounts_write_does_not_matter(self, api, stranger_api, application):
        assert stranger_api.send("/staging/items", {"kind": "note", "payload": {"text": "x"}}).status_code == 201
        assert notes(api, application) == OLD

    def test_what_only_the_primary_has_is_found(self, api, user, application):
        later = ApplicationFactory(consumer=user, notes=NEW)
        assert notes(api, later) == NEW

    def test_every_read_that_may_be_answered_there_is(self, api, user, stale_copy):  # noqa: F811
        made = {
            "application": ApplicationFactory(consumer=user).pk,
            "offer": OfferFactory().pk,
            "claim": ClaimFactory(user=user).pk,
            "item": StagedItemFactory(user=user).pk,
            "wallet": connected(user).pk,
            "payment": process(api, user).json()["payment_id"],
        }
        addresses = [
            "/applications?status=draft", "/applications/{application}", "/applications/{application}/history",
            "/provider-offers?provider_id={provider}", "/provider-offers/{offer}", "/ucp/catalog/items?explain=true",
            "/claims", "/claims/{claim}", "/staging/items?status=staged", "/staging/items/{item}",
            "/payments/{payment}", "/wallet/list/{user}", "/wallet/status/{wallet}",
        ]  # fmt: skip
        made |= {"user": user.pk, "provider": Offer.objects.get().provider_id}
        addresses = [address.format(**made) for address in addresses]
        expected = [api.read(address).json() for address in addresses]
        stale_copy.freeze()
        stale_copy.forget_own_writes()
        for address, body in zip(addresses, expected, strict=True):
            with CaptureQueriesContext(connections[ALIAS]) as asked:
                answer = api.read(address)
            assert (answer.status_code, answer.json()) == (200, body), address
            assert len(asked) >= 1, address


class TestWhatAReplicaNeverDecides:
    """What holds now decides who may see what."""

    def test_a_revoked_key_is_refused(self, user, stale_copy):  # noqa: F811
        issued = keys.create_api_key(owner=user, name="n", scopes=None, now=timezone.now())
        stale_copy.freeze()
        caller = ApiClient(api_key=issued.key)
        assert caller.read("/applications").status_code == 200
        keys.revoke_api_key(issued.record, now=timezone.now())
        assert_error(caller.read("/applications"), 401, "E2009")

    def test_a_claim_that_became_private_is_seen_while_a_replica_may_lag(self, stranger, stranger_api, stale_copy):  # noqa: F811
        claim = ClaimFactory(visibility="shared")
        stale_copy.freeze()
        Claim.objects.filter(pk=claim.pk).update(visibility="private")
        assert stranger_api.read(f"/claims/{claim.pk}").status_code == 200
        replicas.remember_writers([stranger.pk])
        assert_error(stranger_api.read(f"/claims/{claim.pk}"), 404, "E4003")

    def test_a_refusal_is_the_primarys(self, api, application):
        assert_error(api.read("/applications?consumer_id=999999"), 401, "E2004")
        assert_error(api.read(f"/applications/{application.consumer_id}"), 404, "E4002")
        assert_error(api.read("/payments/1"), 404, "E4010")

    def test_accounts_and_permissions_are_read_from_the_primary(self, user, application):
        def read():
            return User.objects.get(pk=user.pk)._state.db, Application.objects.get()._state.db

        assert replicas.answer(user.pk, read) == ("default", ALIAS)

    def test_a_transaction_reads_from_the_primary(self, user, application):
        def read():
            with transaction.atomic():
                return Application.objects.get().notes

        assert replicas.answer(user.pk, read) == NEW

    def test_after_its_first_write_a_request_reads_from_the_primary(self, user, application):
        def read():
            before = Application.objects.get().notes
            StagedItemFactory(user=user)
            return before, Application.objects.get().notes

        assert replicas.answer(user.pk, read) == (OLD, NEW)
        assert StagedItem.objects.count() == 1

    def test_what_belongs_to_a_record_comes_from_where_the_record_came(self, user, application):
        def read():
            record = Application.objects.get()
            return record.history.all().db, record.consumer._state.db

        assert replicas.answer(user.pk, read) == (ALIAS, "default")
        assert Application.objects.get().history.all().db == "default"

    def test_a_record_of_the_replica_is_saved_on_the_primary(self, user, application):
        record = replicas.answer(user.pk, Application.objects.get)
        record.notes = "changed"
        record.save(update_fields=["notes"])
        assert Application.objects.get().notes == "changed"


class TestWhatGoesWrong:
    """Callers never notice."""

    def test_a_replica_that_is_too_far_behind_is_not_read_from(self, api, application):
        replicas.heard(ALIAS, holds_until=time.monotonic() - replicas.MAX_LAG_SECONDS - 1)
        assert notes(api, application) == NEW

    def test_a_replica_of_which_nothing_is_known_is_not_read_from(self, api, application):
        replicas._holds_until.clear()
        assert notes(api, application) == NEW

    def test_a_replica_that_is_down_is_left_alone(self, api, application, stale_copy):  # noqa: F811
        connections[ALIAS].close()
        connections[ALIAS].settings_dict.update(NAME="/nowhere/at all", HOST="127.0.0.1", PORT="1")
        assert notes(api, application) == NEW
        assert not replicas.is_usable(ALIAS)
        stale_copy.is_near()
        assert not replicas.is_usable(ALIAS)
        assert notes(api, application) == NEW

    def test_a_provider_that_does_not_answer_is_not_asked_again(self, user, application):
        calls = []

        def read():
            calls.append(Application.objects.get())
            raise Unavailable

        with pytest.raises(Unavailable):
            replicas.answer(user.pk, read)
        assert len(calls) == 1

    def test_what_reads_nothing_there_is_not_repeated(self, user, application):
        calls = []

        def read():
            calls.append(User.objects.get(pk=user.pk))
            raise ApiError

        with pytest.raises(ApiError):
            replicas.answer(user.pk, read)
        assert len(calls) == 1

    def test_a_statement_that_only_the_replica_refuses_does_not_take_it_away(self, user, application):
        def read():
            if router.db_for_read(Application) == ALIAS:
                raise ProgrammingError("column of the next version does not exist")
            return "answered"

        assert replicas.answer(user.pk, read) == "answered"
        assert replicas.is_usable(ALIAS)

    def test_the_primarys_own_failure_is_not_repeated(self, user, application):
        calls = []

        def read():
            calls.append(1)
            router.db_for_write(Application)
            Application.objects.extra(where=["no_such_column = 1"]).first()

        with pytest.raises(Exception, match="no_such_column"):
            replicas.answer(user.pk, read)
        assert len(calls) == 1

    def test_without_redis_everybody_reads_from_the_primary(self, api, application, settings):
        settings.CACHES = {"default": {**settings.CACHES["default"], "LOCATION": "redis://127.0.0.1:1/0"}}
        assert notes(api, application) == NEW
        replicas.remember_writers([1])
        replicas.look_at_memory()
        assert notes(api, application) == NEW

    def test_redis_that_comes_back_empty_is_not_trusted_at_once(self, api, application):
        assert notes(api, application) == OLD
        cache.clear()
        replicas.look_at_memory()
        assert notes(api, application) == NEW

    def test_without_redis_url_nothing_is_read_from_replicas(self, api, application, settings):
        settings.REDIS_URL = ""
        assert notes(api, application) == NEW

    def test_health_does_not_depend_on_a_replica(self, anonymous, application):
        connections[ALIAS].close()
        connections[ALIAS].settings_dict.update(NAME="/nowhere/at all", HOST="127.0.0.1", PORT="1")
        assert anonymous.read("/health").json()["status"] == "healthy"


def test_two_accounts_are_spread_over_the_replicas(settings, monkeypatch):
    settings.DATABASE_REPLICAS = ("replica1", "replica2")
    monkeypatch.setattr(replicas, "may_have_written", lambda _account: False)
    for alias in settings.DATABASE_REPLICAS:
        replicas.heard(alias, holds_until=time.monotonic())
    assert {replicas.choose(1), replicas.choose(2)} == {"replica1", "replica2"}
    assert replicas.choose(UserFactory().pk) is not None


def test_a_position_in_the_log_is_a_number():
    assert replicas.position_of("16/B374D848") == 0x16_B374_D848
    assert replicas.position_of("1/0") > replicas.position_of("0/FFFFFFFF")
