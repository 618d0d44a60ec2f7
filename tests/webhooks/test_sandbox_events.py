"""POST /v1/sandbox/events: an event of the account, sent once more."""

import pytest

from config.webhooks.catalogue import event_types
from config.webhooks.models import Delivery, Event
from identity.kyc.models import KycVerification
from tests.api import assert_error
from tests.identity.banking import start

pytestmark = pytest.mark.django_db
PATH = "/sandbox/events"
TYPE = "kyc.verification.created"


def send(client, object_id, event_type=TYPE):
    return client.send(PATH, {"type": event_type, "object_id": object_id})


def newest(user):
    return Event.objects.filter(account=user).order_by("-id")[0]


def test_an_event_is_sent_again_as_a_new_one(api, user):
    verification_id = start(api)["verification_id"]
    first = newest(user)
    answer = send(api, verification_id)
    assert answer.status_code == 201, answer.content
    again = newest(user)
    assert answer.json() == {"event_id": str(again.pk)}
    assert again.pk != first.pk
    assert (again.type, again.object) == (TYPE, first.object)
    assert len(api.read("/webhooks/events").json()["events"]) == 2


def test_the_newest_of_several_is_sent_again(api, user):
    verification_id = start(api)["verification_id"]
    row = KycVerification.objects.get(pk=verification_id)
    api.send(f"/sandbox/verifications/{verification_id}/outcome", {"outcome": "failed"})
    assert send(api, str(row.pk), "kyc.verification.updated").status_code == 201
    assert newest(user).object["status"] == "failed"


def test_it_goes_to_the_accounts_own_endpoints_alone(api, user, stranger, make_endpoint):
    mine, theirs = make_endpoint(), make_endpoint(owner=stranger)
    verification_id = start(api)["verification_id"]
    event_id = send(api, verification_id).json()["event_id"]
    api.read("/webhooks/events")
    assert [one.endpoint_id for one in Delivery.objects.filter(event_id=event_id)] == [mine.pk]
    assert not Delivery.objects.filter(endpoint_id=theirs.pk).exists()


def test_anothers_event_is_not_there(api, stranger_api, stranger):
    verification_id = start(api)["verification_id"]
    assert_error(send(stranger_api, verification_id), 404, "E4001")
    assert not Event.objects.filter(account=stranger).exists()


def test_an_object_without_such_an_event_is_not_there(api, user):
    verification_id = start(api)["verification_id"]
    for object_id, event_type in ((verification_id, "kyc.verification.updated"), ("nothing", TYPE), ("1", TYPE)):
        assert_error(send(api, object_id, event_type), 404, "E4001")
    assert Event.objects.filter(account=user).count() == 1


def test_the_first_member_of_every_event_is_the_id_of_its_record():
    for one in event_types().values():
        assert next(iter(one.schema["properties"])).endswith("_id"), one.name
        assert next(iter(one.schema["required"])) == next(iter(one.schema["properties"]))
