"""Share helpers between the tests of identity verification and bank data."""

from config.webhooks.models import Event
from identity.kyc.models import KycVerification
from tests.api import ApiClient
from tests.identity.support import issue

CREATE = "/kyc/create"


def start(api, body=None, **options):
    response = api.send(CREATE, {} if body is None else body, **options)
    assert response.status_code == 200, response.content
    return response.json()


def read(api, verification_id):
    return api.read(f"/kyc/status/{verification_id}")


def row_of(shown):
    return KycVerification.objects.get(pk=shown["verification_id"])


def age(verification_id, **by):
    """Move times of a verification into the past, for example with `refreshed_at=timedelta(…)`."""
    row = KycVerification.objects.get(pk=verification_id)
    changes = {name: getattr(row, name) - span for name, span in by.items()}
    KycVerification.objects.filter(pk=verification_id).update(**changes)


def submit_outcome(shown, outcome, client=None):
    """Submit an outcome on the sandbox's page; return the response."""
    return (client or ApiClient()).post(page_of(shown), {"outcome": outcome})


def page_of(shown):
    return shown["hosted_url"].partition("127.0.0.1:8000")[2]


def events_of(user, prefix):
    """Return (type, object) of an account's events whose type begins with `prefix`, in order."""
    events = Event.objects.filter(account=user, type__startswith=prefix).order_by("id")
    return [(event.type, event.object) for event in events]


def statuses_of(user, prefix="kyc."):
    """Return the statuses in an account's events, in order."""
    return [members["status"] for _, members in events_of(user, prefix)]


def limited(user, *scopes):
    """Return a client whose key has only these scopes."""
    return ApiClient(api_key=issue(user, scopes=list(scopes)).key)
