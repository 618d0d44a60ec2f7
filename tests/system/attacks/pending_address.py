"""Ask for the address of a victim, with an account that has a key, a webhook and an app: does the victim end in it?

`python -m tests.system.attacks.pending_address`
"""

import json
import tempfile
from typing import Any
from uuid import uuid4

from tests.processes import PASSWORD
from tests.system.attacks.accounts import NEW_PASSWORD, Browser, Calls, link_to, mails, reset_password, server_with_mail
from tests.system.server import manage

VICTIMS = ("ada@example.org", "eve@example.org", "ida@example.org")
SEED = """
import json
from allauth.account.models import EmailAddress
from django.utils import timezone
from config.webhooks.endpoints import create_endpoint
from identity.access.keys import create_api_key
from identity.access.tokens import start_family
from tests.factories import ProviderFactory, UserFactory
from tests.identity.oauth_support import make_client
now, made = timezone.now(), []
for number in range({accounts}):
    user = UserFactory(username=f"attacker{{number}}", email=f"attacker{{number}}@example.org")
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    key = create_api_key(owner=user, name="n", scopes=None, now=now).key
    create_endpoint(
        account_id=user.pk, url="https://example.org/hook", event_types=["*"], description="", now=now
    )
    app = start_family(user=user, now=now, client=make_client(name=f"App {{number}}")[0], scope="identity:read")
    made.append([key, app.access_token])
ProviderFactory(id="700", owner=UserFactory(username="owner"))
print(json.dumps(made))
"""
INVITE = """
from django.utils import timezone
from config.core.lifecycle import Actor
from identity.accounts.invitations import invite
from identity.models import User
owner = User.objects.get(username="owner")
invite(actor=Actor.system("attack"), email={email!r}, role="partner", now=timezone.now())
"""
NAMES = """
import json
from identity.models import User
print(json.dumps([*User.objects.values_list("username", flat=True)]))
"""
TERMS = {"offer_id": 1, "provider_id": 1, "application_data": {}}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/db.sqlite3"
        manage(database, folder, "migrate", "--verbosity", "0")
        attackers = json.loads(manage(database, folder, "shell", "-v", "0", "-c", SEED.format(accounts=4)))
        with server_with_mail(database, folder) as port:
            calls, browsers = Calls(port), []
            for number, victim in enumerate(VICTIMS):
                browsers.append(attacker := Browser(port))
                attacker.log_in(f"attacker{number}")
                attacker.submit("/account/email", {"email": victim, "action_add": ""})
                attacker.submit("/account/reauthenticate?next=/account/email", {"password": PASSWORD})
                attacker.submit("/account/email", {"email": victim, "action_add": ""})
            mails(database, folder)

            def name_of(address: str) -> str:
                """Return the user name of whoever logs in with an address and NEW_PASSWORD."""
                browser = Browser(port)
                browser.log_in(address, NEW_PASSWORD)
                if link := link_to(address, "/account/confirm/", mails(database, folder)):
                    browser.submit(link, {})
                    browser.log_in(address, NEW_PASSWORD)
                page = browser.get(f"{browser.root}/account/").text
                names = json.loads(manage(database, folder, "shell", "-v", "0", "-c", NAMES))
                return next(name for name in names if name in page)

            def token_of(name: str) -> str:
                body = {"username": name, "password": NEW_PASSWORD}
                return str(Calls(port).send("", "POST", "/auth/token", body).json()["access_token"])

            def use(number: int, victim: str, how: str) -> None:
                """Let the victim work, with the password that they chose; then let the attacker look at it."""
                key, app = attackers[number]
                token = token_of(name_of(victim))
                me = bearer(port, "GET", "/auth/me", token)
                done = bearer(port, "POST", "/applications", token, TERMS | {"consumer_id": me["user_id"]})
                for name, path, headers in (
                    ("key", f"/applications/{done['id']}", {"X-API-Key": key}),
                    ("key as the victim", "/auth/me", {"X-API-Key": key}),
                    ("app as the victim", "/auth/me", {"Authorization": f"Bearer {app}"}),
                    ("events of webhooks", "/webhooks/events", {"X-API-Key": key}),
                ):
                    answer = quiet(port, path, headers)
                    seen = answer.get("user_id") == me["user_id"] or done["id"] in json.dumps(answer)
                    calls.count(f"{name} ({how})", through=seen)
                page = browsers[number].get(f"{browsers[number].root}/account/")
                calls.count(f"session ({how})", through=me["username"] in page.text)

            # They sign up, and are led to the password if an account has the address.
            signed_up, reset, invited = VICTIMS
            Browser(port).submit("/account/signup", {"email": signed_up, "password1": NEW_PASSWORD})
            received = mails(database, folder)
            if link := link_to(signed_up, "/account/confirm/", received):
                Browser(port).submit(link, {})
            else:
                reset_password(port, database, folder, signed_up)
            use(0, signed_up, "sign-up")
            # They ask for a new password. Without an account there is none, and they sign up.
            if not reset_password(port, database, folder, reset):
                Browser(port).submit("/account/signup", {"email": reset, "password1": NEW_PASSWORD})
                Browser(port).submit(str(link_to(reset, "/account/confirm/", mails(database, folder))), {})
            use(1, reset, "reset")
            # They are invited; the attacker's account would have the invited person's group.
            manage(database, folder, "shell", "-v", "0", "-c", INVITE.format(email=invited))
            link = str(link_to(invited, "/account/invitation/", mails(database, folder)))
            taken = browsers[2].submit(link, {})
            calls.count("invitation in the attacker's session", through=taken.url.endswith("/account/"))
            victim = Browser(port)
            victim.submit(link, {})
            if not reset_password(port, database, folder, invited):
                victim.submit("/account/signup", {"email": invited, "password1": NEW_PASSWORD})
            use(2, invited, "invitation")
            # Somebody knew the password of an account, and its owner takes the account back by mail.
            reset_password(port, database, folder, "attacker3@example.org")
            key, app = attackers[3]
            calls.send("key after a reset", "GET", "/auth/me", **{"X-API-Key": key})
            calls.send("app after a reset", "GET", "/auth/me", Authorization=f"Bearer {app}")
            page = bearer(port, "GET", "/webhooks/endpoints", token_of("attacker3"))
            calls.count("webhook after a reset", through='"enabled"' in json.dumps(page))
            calls.report()


def bearer(port: int, method: str, path: str, token: str, body: object = None) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": str(uuid4())}
    return dict(Calls(port).send("", method, path, body, **headers).json())


def quiet(port: int, path: str, headers: dict[str, str]) -> dict[str, Any]:
    return dict(Calls(port).send("", "GET", path, **headers).json())


if __name__ == "__main__":
    main()
