from functools import partial
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from rest_framework.decorators import action

from claims import serializers, services
from claims.errors import ClaimNotFound, InvalidClaimTransition
from claims.models import Claim
from config.api.views import ApiRequest, ApiViewSet, endpoint, require_self
from config.core.credentials import FIRST_PARTY
from config.core.errors import UserMismatch
from config.core.lifecycle import ReviewerRequired, SecondFactorRequired, actor_of

_own = partial(endpoint, access=FIRST_PARTY)
_changes = partial(endpoint, access=FIRST_PARTY, idempotent=True)


class ClaimViewSet(ApiViewSet):
    """Claims of authorship of publications, and their verification."""

    lookup_url_kwarg = "claim_id"

    @_own(query=serializers.ClaimQuery, answer=serializers.ClaimSerializer(many=True), errors=(UserMismatch,))
    def list(self, request: ApiRequest, query: dict[str, Any]) -> QuerySet[Claim]:
        """List claims.

        Without `publication_id`, the list has your own claims. With `publication_id`, the list has the claims to that
        publication that you can read. The newest claim is first.
        """
        return services.list_claims(
            viewer=request.user, user_id=query.get("user_id", ""), publication_id=query.get("publication_id", "")
        )

    @_changes(
        body=serializers.ClaimRequestSerializer, answer=serializers.ClaimSerializer, status=201, errors=(UserMismatch,)
    )
    def create(self, request: ApiRequest, body: dict[str, Any]) -> Claim:
        """Claim a publication.

        The claim starts as `draft`.
        """
        require_self(request, body.pop("user_id"))
        return services.create_claim(actor=actor_of(request), members=body, now=timezone.now())

    @_own(answer=serializers.ClaimSerializer, errors=(ClaimNotFound,))
    def retrieve(self, request: ApiRequest, claim_id: str) -> Claim:
        """Get a claim."""
        return services.show_claim(claim_id, request.user)

    @_changes(
        body=serializers.ClaimChangeRequestSerializer, answer=serializers.ClaimSerializer, errors=(ClaimNotFound,)
    )
    def update(self, request: ApiRequest, claim_id: str, body: dict[str, Any]) -> Claim:
        """Update a claim.

        Only the owner can update a claim. The request replaces the evidence, notes, verification level, or visibility.
        Fields that are absent or null don't change.
        """
        return services.change_claim(claim_id, actor=actor_of(request), changes=body, now=timezone.now())

    @_changes(errors=(ClaimNotFound,))
    def destroy(self, request: ApiRequest, claim_id: str) -> None:
        """Delete a claim.

        Only the owner can delete a claim. The API then returns 404 for the claim.
        """
        services.delete_claim(claim_id, actor=actor_of(request), now=timezone.now())

    @action(detail=True, methods=["put"], url_path="status")
    @_changes(
        body=serializers.ClaimStatusRequestSerializer,
        answer=serializers.ClaimSerializer,
        errors=(ClaimNotFound, InvalidClaimTransition, ReviewerRequired, SecondFactorRequired),
    )
    def move(self, request: ApiRequest, claim_id: str, body: dict[str, Any]) -> Claim:
        """Change the status of a claim.

        The owner, and reviewers who can read the claim, can make the transitions of their role. Under
        `REVIEW_POLICY=open`, both can make all transitions.
        """
        claim = services.load_movable(claim_id, request.user)
        actor, now = actor_of(request), timezone.now()
        claim.transition_to(body["status"], actor=actor, changed_by=body["updated_by"], now=now, reason=body["reason"])
        return claim
