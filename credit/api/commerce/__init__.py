"""The Universal Commerce Protocol (version 2026-08-25): its business profile, and offers as its catalogue of products.

A product is an offer, a variant one of its terms, a price the amount financed; `products` states it in each of them, in
`metadata` and in words. `catalog` finds offers, by the rules of `credit.offers.catalogue`, so that a person sees the
same offers here as at `/v1/ucp/catalog/items`. `profile` writes the discovery document.

The catalogue asks for the scope `offers:read`, like its older sister: which variant of an offer under test is shown
depends on who asks. The profile is public and needs no account.

Nothing here goes out. `UCP-Agent` is read, but a profile that a stranger names is never fetched, and no right follows
from it: who calls is what the credential says.

The protocol's business outcome (an unknown id) is 200 with `messages`. Earlier errors (credentials, limits, a body of
another shape) are the usual errors with `messages` added; see `refusals`.
"""
