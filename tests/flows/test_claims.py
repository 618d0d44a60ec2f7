"""Stories of claims, from staging to approval, told by HTTP."""

from django.contrib.auth.models import Group

from claims.models import Claim
from config.webhooks.catalogue import event_types
from config.webhooks.models import Event
from tests.api import assert_error, client_of
from tests.factories import UserFactory

DOI = "https://doi.org/10.1000/XYZ.123"


def status(client, claim_id, to, **members):
    return client.replace(f"/claims/{claim_id}/status", {"status": to, "updated_by": "somebody", **members})


def test_a_claim_from_staging_to_approval_dispute_and_deletion(api, user, stranger_api, settings):
    settings.REVIEW_POLICY = "four_eyes"
    colleague = UserFactory()
    colleague.groups.add(Group.objects.get(name="Reviewer"))
    reviewer = client_of(colleague)

    # Somebody imports two publications, keeps one and throws the other away.
    payload = {"publication_id": DOI, "claim_type": "author", "visibility": "conditional"}
    wanted = api.send("/staging/items", {"kind": "claim", "payload": payload, "source": "registry"}).json()
    other = api.send("/staging/items", {"kind": "claim", "payload": {**payload, "publication_id": "W9"}}).json()
    me = {"user_id": str(user.pk)}
    claim_id = api.send(f"/staging/approve/{wanted['id']}", me, key=True).json()["stored_id"]
    assert api.send(f"/staging/reject/{other['id']}", me, key=True).json()["status"] == "rejected"
    assert api.read("/staging/items").json()["total"] == 0
    assert [claim["id"] for claim in api.read("/claims").json()] == [claim_id]

    # They add evidence and ask for review; they cannot approve it themselves.
    changed = {"evidence": ["https://example.org/proof"], "verification_level": "evidence_provided"}
    assert api.replace(f"/claims/{claim_id}", changed).status_code == 200
    assert status(api, claim_id, "pending").status_code == 200
    assert_error(status(api, claim_id, "approved"), 403, "E2010")

    # Strangers do not know that the claim exists, the reviewer does, in every spelling of the DOI.
    assert_error(stranger_api.read(f"/claims/{claim_id}"), 404, "E4003")
    assert stranger_api.read("/claims?publication_id=10.1000/xyz.123").json() == []
    assert [one["id"] for one in reviewer.read("/claims?publication_id=doi:10.1000/XYZ.123").json()] == [claim_id]
    approved = status(reviewer, claim_id, "approved", reason="seen").json()
    assert (approved["status"], approved["approved_at"] is not None) == ("approved", True)

    # Shared with everybody, it is disputed; only the reviewer ends the dispute.
    assert api.replace(f"/claims/{claim_id}", {"visibility": "shared"}).json()["status"] == "approved"
    assert [one["id"] for one in stranger_api.read("/claims?publication_id=10.1000/xyz.123").json()] == [claim_id]
    assert status(api, claim_id, "disputed").status_code == 200
    assert_error(status(api, claim_id, "approved"), 403, "E2010")
    ended = status(reviewer, claim_id, "approved").json()
    assert ended["approved_at"] == approved["approved_at"]

    # Deleted, it is gone for all of them, and kept for audit.
    assert api.remove(f"/claims/{claim_id}").status_code == 200
    for client in (api, stranger_api, reviewer):
        assert_error(client.read(f"/claims/{claim_id}"), 404, "E4003")
    tombstone = Claim.with_tombstones.get(pk=claim_id)
    assert list(tombstone.history.values_list("position", "status", "principal")) == [
        (1, "pending", user.pk),
        (2, "approved", colleague.pk),
        (3, "disputed", user.pk),
        (4, "approved", colleague.pk),
    ]

    told = list(Event.objects.filter(account=user).order_by("id"))
    assert [event.type for event in told] == [
        "staging.item.staged", "staging.item.staged", "claim.created", "staging.item.approved",
        "staging.item.rejected", "claim.updated", "claim.pending", "claim.approved", "claim.updated", "claim.disputed",
        "claim.approved", "claim.deleted",
    ]  # fmt: skip
    for event in told:
        assert set(event_types()[event.type].schema["required"]) <= set(event.object)
        assert "proof" not in str(event.object)  # ids and statuses only
