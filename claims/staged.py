from claims.serializers import ClaimPayload
from claims.services import store_claims
from staging.registry import Kind

KINDS = (Kind("claim", payload=ClaimPayload, store=store_claims),)
