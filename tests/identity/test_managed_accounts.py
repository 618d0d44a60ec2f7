"""Test that a partner creates customer accounts and acts on their behalf until the customer ends it."""

import json
from datetime import timedelta

import jwt
import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.utils import timezone

from config.core.groups import PARTNER
from config.mail.models import OutgoingMail
from config.ops.pruning import prune
from config.webhooks.models import Event
from credit.models import ApplicationHistory
from identity.access.scopes import ACTING_SCOPES, SCOPES
from identity.accounts.managed import end_access_to_erased
from identity.models import AccountHistory, ManagedAccount, TokenFamily, User
from payments.models import Payment
from tests.api import ApiClient, assert_error, client_of
from tests.factories import ProviderFactory, UserFactory
from tests.identity.oauth_support import browser_of, code_for, exchange, make_client
from tests.identity.support import issue
from tests.identity.test_invitations import token_of
from tests.payments.test_card_walks import payment_with_requested_charge

PATH = "/accounts"
EMAIL = "jane@example.org"
PASSWORDS = {"password1": "a horse walks far", "password2": "a horse walks far"}


def made_partner(**facts):
    person = UserFactory(**facts)
    person.groups.add(Group.objects.get(name=PARTNER))
    return person


@pytest.fixture
def partner(db):
    return made_partner(username="market")


@pytest.fixture
def shop(partner):
    """Return the partner's server, with a key of only that scope."""
    return ApiClient(api_key=issue(partner, scopes=["accounts:write"]).key)


@pytest.fixture
def account(shop):
    return create_account(shop)


def create_account(shop, external_id="c-1", **more):
    answer = shop.send(PATH, {"external_id": external_id, **more})
    assert answer.status_code == 201, answer.content
    return answer.json()


def token_for(shop, account, *scopes):
    answer = shop.send(f"{PATH}/{account['id']}/tokens", {"scopes": list(scopes) or list(ACTING_SCOPES)})
    assert answer.status_code == 201, answer.content
    return answer.json()


def acting(shop, account, *scopes):
    return ApiClient(bearer=token_for(shop, account, *scopes)["access_token"])


def person_of(account):
    return User.objects.get(pk=account["id"])


def claimed(shop, username="jane"):
    """Return an account that its customer has claimed with the mailed link."""
    account = create_account(shop, f"of-{username}", email=f"{username}@example.org")
    page = claim_account(username)
    assert page.status_code == 302, page.content.decode()
    return account


def claim_account(username):
    return Client().post(f"/account/claim/{token_of('claim')}", {"username": username, **PASSWORDS})


class TestAccounts:
    def test_same_external_id_of_a_partner_returns_the_same_managed_account(self, shop, partner):
        first = shop.send(PATH, {"external_id": "c-1", "email": EMAIL, "name": "Jane"})
        again = shop.send(PATH, {"external_id": "c-1"})
        assert (first.status_code, again.status_code, first.json()) == (201, 200, again.json())
        shown = first.json()
        assert set(shown) == {"id", "external_id", "managed_by", "claimed_at", "created_at"}
        assert (shown["managed_by"], shown["claimed_at"]) == (str(partner.pk), None)
        assert shop.read(f"{PATH}/{shown['id']}").json() == shown
        other = ApiClient(api_key=issue(made_partner(), scopes=["accounts:write"]).key)
        assert other.read(PATH).json()["total"] == 0
        assert create_account(other, "c-1")["id"] != shown["id"]
        for invalid in ({"external_id": "a\n"}, {"external_id": "a", "email": "jane"}):
            assert_error(shop.send(PATH, invalid), 400, "E1001")
        create_account(shop, "c-2")
        for query, expected in (("", 2), ("?external_id=c-1", 1), ("?external_id=c", 0)):
            assert shop.read(f"{PATH}{query}").json()["total"] == expected
        assert not person_of(shown).has_usable_password()
        payload = Event.objects.filter(type="account.created", account_id=partner.pk).first().object
        assert payload == {"user_id": shown["id"], "managed_by": str(partner.pk)}

    def test_only_partners_can_create_managed_accounts_and_act_on_behalf_of_the_accounts(self, api, account):
        path = f"{PATH}/{account['id']}"
        for answer in (
            api.send(PATH, {"external_id": "a"}), api.read(path),
            api.send(f"{path}/tokens", {"scopes": ["offers:read"]}),
        ):  # fmt: skip
            assert_error(answer, 403, "E2005")
        assert ManagedAccount.objects.count() == 1

    def test_managed_account_data_is_encrypted_and_deleted_when_the_partners_access_ends(self, shop):
        account = create_account(shop, email=EMAIL, name="Jane Doe")
        with connection.cursor() as cursor:
            cursor.execute("SELECT email, name FROM identity_managedaccount")
            assert "Jane" not in str(cursor.fetchall())
        assert ManagedAccount.objects.get().name == "Jane Doe"
        shop.remove(f"{PATH}/{account['id']}")
        kept = ManagedAccount.objects.get()
        assert (kept.email, kept.name) == (None, None)

    def test_managed_account_without_an_in_flight_payment_can_be_disabled(self, shop, account):
        held, path = acting(shop, account), f"{PATH}/{account['id']}"
        payment = payment_with_requested_charge(person_of(account))
        assert_error(shop.remove(path), 400, "E3004")
        assert held.read("/auth/me").status_code == 200
        Payment.objects.filter(pk=payment.pk).update(status="Failed")
        prune(now=timezone.now())
        assert held.read("/auth/me").status_code == 200
        assert shop.remove(path).status_code == 200
        assert_error(held.read("/auth/me"), 403, "E2013")
        assert_error(shop.read(path), 403, "E2013")
        assert_error(shop.send(PATH, {"external_id": "c-1"}), 403, "E2013")
        assert not person_of(account).is_active
        assert shop.read(PATH).json()["total"] == 0
        prune(now=timezone.now() + timedelta(minutes=16))
        assert not TokenFamily.objects.filter(actor__isnull=False).exists()


class TestPartnerOnBehalfOf:
    def test_a_partners_token_contains_the_partner_and_lasts_15_minutes(self, shop, partner, account):
        token = token_for(shop, account, "applications:write", "offers:read")
        claims = jwt.decode(token["access_token"], options={"verify_signature": False})
        assert (claims["sub"], claims["act"]) == (account["id"], {"sub": str(partner.pk)})
        assert claims["exp"] - claims["iat"] == token["expires_in"] == 900
        assert token["scope"] == claims["scope"] == "offers:read applications:write"
        assert not {"staff", "amr", "client_id"} & set(claims)
        assert ApiClient(bearer=token["access_token"]).read("/auth/me").json() == {
            "id": int(account["id"]), "user_id": account["id"], "scopes": ["applications:write", "offers:read"],
        }  # fmt: skip
        row = AccountHistory.objects.get(action="account.token_issued")
        assert (str(row.account_id), row.principal_id) == (account["id"], partner.pk)
        assert row.credential.startswith("api_key:")
        assert row.details == {"token": claims["sid"], "scope": token["scope"]}

    def test_application_history_contains_the_customer_and_the_partner(self, shop, partner, account):
        client = acting(shop, account)
        body = {"consumer_id": account["id"], "offer_id": 7, "provider_id": 9}
        application = client.send("/applications", body).json()["id"]
        move = {"status": "submitted", "updated_by": "market"}
        assert client.replace(f"/applications/{application}/status", move).status_code == 200
        row = ApplicationHistory.objects.get()
        assert (str(row.principal_id), row.credential.endswith(f" act:{partner.pk}")) == (account["id"], True)
        assert_error(client.send("/applications", {**body, "consumer_id": str(partner.pk)}), 401, "E2004")
        for status in ("under_review", "approved"):  # Tokens of a partner can't decide.
            move = {"status": status, "updated_by": "market"}
            assert client.replace(f"/applications/{application}/status", move).status_code in {400, 403}

    def test_tokens_on_behalf_of_a_customer_cannot_create_tokens_keys_or_payments(self, shop, partner, account):
        for scope in ("accounts:write", "webhooks", "offers:write", "score:read"):
            assert_error(shop.send(f"{PATH}/{account['id']}/tokens", {"scopes": [scope]}), 400, "E1001")
        client = acting(shop, account)
        assert_error(client.send(f"{PATH}/{account['id']}/tokens", {"scopes": ["offers:read"]}), 403, "E2005")
        assert_error(client.send("/api-keys", {"name": "n"}), 403, "E2005")
        order = {"user_id": int(account["id"]), "amount_cents": 500, "payment_method_id": "pm_sandbox_ok"}
        assert_error(client.send("/payments/process", order), 403, "E2005")
        assert_error(client.read("/webhooks/endpoints"), 403, "E2005")
        oauth_client, secret = make_client(scopes=list(SCOPES))
        code = code_for(partner, oauth_client, scope="accounts:write")
        app = ApiClient(bearer=exchange(code, oauth_client, secret).json()["access_token"])
        assert app.read(f"{PATH}/{account['id']}").status_code == 200
        assert_error(app.send(f"{PATH}/{account['id']}/tokens", {"scopes": ["offers:read"]}), 403, "E2005")

    def test_partner_cannot_get_a_token_for_staff_or_a_lender(self, shop):
        for became in ("staff", "superuser", "reviewer", "member"):
            account = create_account(shop, became)
            person, held = person_of(account), acting(shop, account)
            if became in {"staff", "superuser"}:
                setattr(person, f"is_{became}", True)
                person.save()
            elif became == "reviewer":
                person.groups.add(Group.objects.get(name="Reviewer"))
            else:
                ProviderFactory(owner=person)
            assert_error(shop.send(f"{PATH}/{account['id']}/tokens", {"scopes": ["offers:read"]}), 400, "E3004")
            if became == "staff":
                assert_error(held.read("/auth/me"), 401, "E2002")

    def test_a_former_partner_cannot_act_on_behalf_of_customers(self, shop, partner, account):
        held = acting(shop, account)
        partner.groups.clear()
        assert_error(shop.send(f"{PATH}/{account['id']}/tokens", {"scopes": ["offers:read"]}), 403, "E2005")
        partner.is_active = False
        partner.save()
        assert_error(held.read("/auth/me"), 401, "E2002")

    def test_calls_on_behalf_of_customers_count_toward_the_partners_rate_limit(self, shop, partner, settings):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "read": 3}
        clients = [acting(shop, create_account(shop, f"c-{number}")) for number in range(2)]
        answers = [client.read("/applications").status_code for client in (*clients, *clients)]
        assert answers == [200, 200, 200, 429]
        assert_error(client_of(partner).read("/auth/me"), 429, "E6001")


class TestClaimedAccounts:
    def test_customer_can_claim_the_account_and_view_the_partners_access(self, shop, partner):
        account = create_account(shop, "of-jane", email=EMAIL)
        held = acting(shop, account)
        assert claim_account("jane").status_code == 302
        assert held.read("/auth/me").status_code == 401, "the claim revokes the partner's tokens"
        person = person_of(account)
        assert (person.username, person.email, person.check_password("a horse walks far")) == ("jane", EMAIL, True)
        assert shop.read(f"{PATH}/{account['id']}").json()["claimed_at"]
        assert ManagedAccount.objects.get().email is None
        page = browser_of(person).get("/oauth/grants").content.decode()
        assert "End access: <bdi>market" in page
        assert acting(shop, account).read("/auth/me").status_code == 200
        account_ids = Event.objects.filter(type="account.claimed").values_list("account_id", flat=True)
        assert set(account_ids) == {partner.pk, person.pk}
        written = [json.dumps(item) for item in Event.objects.values_list("object", flat=True)]
        written += [json.dumps(item) for item in AccountHistory.objects.values_list("details", flat=True)]
        assert not any("jane" in item for item in written)

    def test_account_claim_link_works_only_once_and_remains_valid_after_opening_its_page(self, shop):
        create_account(shop, email=EMAIL)
        address = f"/account/claim/{token_of('claim')}"
        for _ in range(2):
            page = Client().get(address)
            assert page.status_code == 200
            assert page.headers["Cache-Control"] == "no-store"
        form = {"username": "jane", **PASSWORDS}
        UserFactory(username="taken")
        for wrong in ({"username": "taken"}, {"password2": "another"}, {"password1": "1", "password2": "1"}):
            assert Client().post(address, {**form, **wrong}).status_code == 200
        assert Client().post(address, form).status_code == 302
        assert Client().post(address, form).status_code == 410
        assert Client().get(address).status_code == 410

    def test_replaced_or_ended_account_claim_link_returns_410(self, shop):
        create_account(shop, email="first@example.org")
        first = token_of("claim")
        shop.send(PATH, {"external_id": "c-1", "email": EMAIL})  # The partner corrects the address.
        second = token_of("claim")
        shop.send(PATH, {"external_id": "c-1", "email": EMAIL})  # The mail to this address is already queued.
        assert OutgoingMail.objects.filter(template="claim").count() == 2
        assert Client().get(f"/account/claim/{first}").status_code == 410
        assert Client().get(f"/account/claim/{second}").status_code == 200
        shop.remove(f"{PATH}/{ManagedAccount.objects.get().pk}")
        assert Client().get(f"/account/claim/{second}").status_code == 410
        assert Client().get("/account/claim/x").status_code == 410

    def test_customer_can_end_the_partners_access(self, shop, partner):
        account = claimed(shop)
        person, held = person_of(account), acting(shop, account)
        browser = browser_of(person)
        csrf = browser.get("/oauth/grants").context["csrf_token"]
        ended = browser.post("/oauth/grants", {"partner": partner.pk, "csrfmiddlewaretoken": str(csrf)})
        assert ended.status_code == 302
        page = browser.get("/oauth/grants").content.decode()
        assert "The partner can no longer act on your behalf." in page
        assert "End access" not in page
        assert_error(held.read("/applications"), 403, "E2013")
        path = f"{PATH}/{account['id']}"
        for answer in (
            shop.read(path), shop.remove(path), shop.send(f"{path}/tokens", {"scopes": ["offers:read"]}),
            shop.send(PATH, {"external_id": "of-jane"}),
        ):  # fmt: skip
            assert_error(answer, 403, "E2013")
        assert User.objects.get(pk=person.pk).is_active
        account_ids = Event.objects.filter(type="account.access_ended").values_list("account_id", flat=True)
        assert set(account_ids) == {partner.pk, person.pk}

    def test_partner_that_disables_a_claimed_account_loses_access_and_the_account_stays_enabled(self, shop):
        UserFactory(email=EMAIL)
        account = claimed(shop)
        assert person_of(account).email == "", "the claim does not move the address of another account"
        assert shop.remove(f"{PATH}/{account['id']}").status_code == 200
        assert person_of(account).is_active
        assert_error(shop.read(f"{PATH}/{account['id']}"), 403, "E2013")

    def test_partner_gets_an_event_when_a_customer_erases_the_account(self, shop, partner):
        account = claimed(shop)
        for _ in range(2):  # an erasure can run again after an interruption
            end_access_to_erased(int(account["id"]), now=timezone.now())
        ended = Event.objects.get(type="account.access_ended")
        assert (ended.account_id, ended.object["user_id"]) == (partner.pk, account["id"])
        assert_error(shop.read(f"{PATH}/{account['id']}"), 403, "E2013")
