"""Send twelve requests through the generated Python client, which is on PYTHONPATH: `golden.py ADDRESS KEY`."""

import sys
from uuid import uuid4

from credit_platform_api_client import AuthenticatedClient
from credit_platform_api_client.api.applications import (
    applications_change,
    applications_create,
    applications_history,
    applications_list,
    applications_move,
    applications_retrieve,
    applications_transitions,
)
from credit_platform_api_client.api.health import health_check
from credit_platform_api_client.api.identity import auth_me
from credit_platform_api_client.api.provider_offers import offers_create, offers_quote, offers_retrieve
from credit_platform_api_client.models import (
    ApplicationChangeRequest,
    ApplicationRequest,
    ApplicationStatusRequest,
    ApplicationStatusRequestStatus,
    OfferRequest,
)

address, key = sys.argv[1:]
client = AuthenticatedClient(
    base_url=address, token=key, auth_header_name="X-API-Key", prefix="", raise_on_unexpected_status=True
)
calls = 0


def done(response, status):
    """Check the status of a response; return its parsed body."""
    global calls  # noqa: PLW0603
    assert response.status_code == status, response
    assert response.parsed is not None, response
    calls += 1
    return response.parsed


assert done(health_check.sync_detailed(client=client), 200).status == "healthy"
me = done(auth_me.sync_detailed(client=client), 200)
terms = OfferRequest(
    provider_id="7001",
    name="Everyday loan",
    product_type="personal_loan",
    apr_min_percent=9.5,
    term_options_months=[12, 24],
)
offer = done(offers_create.sync_detailed(client=client, body=terms, idempotency_key=str(uuid4())), 201)
assert done(offers_retrieve.sync_detailed(offer.id, client=client), 200).term_options_months == [12, 24]
quote = done(offers_quote.sync_detailed(offer.id, client=client, amount_cents=100_000, term_months=12), 200)
assert len(quote.schedule) == 12
body = ApplicationRequest(
    consumer_id=str(me.id), offer_id=int(offer.id), provider_id=7001, application_data={"a": [1, None]}
)
once = str(uuid4())
created = done(applications_create.sync_detailed(client=client, body=body, idempotency_key=once), 201)
assert applications_create.sync(client=client, body=body, idempotency_key=once).id == created.id
assert done(applications_retrieve.sync_detailed(created.id, client=client), 200).status == "draft"
changes = ApplicationChangeRequest(updated_by="me", notes="Two members")
assert done(applications_change.sync_detailed(created.id, client=client, body=changes), 200).notes == "Two members"
status = ApplicationStatusRequest(status=ApplicationStatusRequestStatus.SUBMITTED, updated_by="me")
assert done(applications_move.sync_detailed(created.id, client=client, body=status), 200).status == "submitted"
assert len(done(applications_history.sync_detailed(created.id, client=client), 200).history) == 1
assert done(applications_transitions.sync_detailed(created.id, client=client), 200).status == "submitted"
assert created.id in [item.id for item in done(applications_list.sync_detailed(client=client, limit=5), 200)]
rejected = applications_retrieve.sync_detailed("none", client=client)
assert (rejected.status_code, rejected.parsed.code) == (404, "E4002")
print(f"{calls} calls")
