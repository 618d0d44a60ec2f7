"""Act for a lender with passwords alone, of two members who both have an authenticator.

`python -m tests.system.attacks.password_alone`
"""

import tempfile
from itertools import product
from uuid import uuid4

from tests.processes import PASSWORD
from tests.system.attacks.accounts import NEW_PASSWORD, Calls, reset_password, server_with_mail
from tests.system.server import manage

MEMBERS = ("owner", "reviewer")
SEED = """
from allauth.account.models import EmailAddress
from django.utils import timezone
from credit.models import ProviderMember
from identity.access.keys import create_api_key
from tests.factories import ApplicationFactory, ProviderFactory, UserFactory
from tests.second_factors import authenticator_of
owner, reviewer = (UserFactory(username=name, email=name + "@example.org") for name in ("owner", "reviewer"))
for member in (owner, reviewer):
    EmailAddress.objects.create(user=member, email=member.email, verified=True, primary=True)
    authenticator_of(member)
provider = ProviderFactory(id="700", owner=owner)
ProviderMember.objects.create(provider=provider, user=reviewer, role="reviewer")
data = {"amount_cents": 1_000_000, "applicant": {"name": "Ada"}}
application = ApplicationFactory(status="under_review", submitted_at=timezone.now(), application_data=data)
# Keys that were made without the second factor: they have no right of the lender.
keys = [create_api_key(owner=member, name="n", scopes=None, now=timezone.now()).key for member in (owner, reviewer)]
print(application.pk, *keys)
"""
APPROVAL = {"status": "approved", "updated_by": "me", "metadata": {"terms": {"rate_percent": 8.5}}}
OFFER = {"provider_id": "700", "name": "Loan", "product_type": "personal_loan"}
LENDER = [
    ("inbox", "GET", "/providers/700/applications", None),
    ("application", "GET", "/applications/{application}", None),
    ("decisions", "GET", "/providers/700/decisions", None),
    ("approval", "PUT", "/applications/{application}/status", APPROVAL),
    ("offer", "POST", "/provider-offers", OFFER),
]  # fmt: skip
ACCOUNT = [
    ("payment", "POST", "/payments/process", {"amount_cents": 99_900, "payment_method_id": "pm_card_visa"}),
    ("webhook", "POST", "/webhooks/endpoints", {"url": "https://example.org/hook", "event_types": ["*"]}),
]  # fmt: skip


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/db.sqlite3"
        manage(database, folder, "migrate", "--verbosity", "0")
        application, *keys = manage(database, folder, "shell", "-v", "0", "-c", SEED).split()
        profile = {"REVIEW_POLICY": "four_eyes", "BACKOFFICE_SECOND_FACTOR": "1"}
        with server_with_mail(database, folder, **profile) as port:
            calls = Calls(port)

            def use(member: str, how: str, password: str) -> None:
                body = {"username": member, "password": password}
                answer = calls.send(f"token of the {member} ({how})", "POST", "/auth/token", body)
                token = answer.json().get("access_token", "none")
                user_id = calls_as(token)
                for name, method, path, content in LENDER + ACCOUNT:
                    sent = {**content, "user_id": user_id} if name == "payment" else content
                    calls.send(
                        f"{name} of the {member} ({how})", method, path.format(application=application), sent,
                        Authorization=f"Bearer {token}", **{"Idempotency-Key": str(uuid4())},
                    )  # fmt: skip

            def calls_as(token: str) -> int:
                me = Calls(port).send("", "GET", "/auth/me", Authorization=f"Bearer {token}").json()
                return int(me.get("user_id") or me.get("id") or 0)

            for member in MEMBERS:
                use(member, "password", PASSWORD)
            for member in MEMBERS:
                assert reset_password(port, database, folder, f"{member}@example.org")
                use(member, "reset by mail", NEW_PASSWORD)
            for (member, key), (name, method, path, content) in product(zip(MEMBERS, keys, strict=True), LENDER):
                calls.send(
                    f"{name} of the {member} (key)", method, path.format(application=application), content,
                    **{"X-API-Key": key, "Idempotency-Key": str(uuid4())},
                )  # fmt: skip
            calls.report()


if __name__ == "__main__":
    main()
