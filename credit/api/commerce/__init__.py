"""The Universal Commerce Protocol (version 2026-08-25): its business profile, and offers as its catalogue of products.

A product is an offer, a variant one of its terms, a price the amount financed; `products` says so in each of them, in
`metadata` and in words. `catalog` finds offers, by the rules of `credit.offers.catalogue`, so that a person sees
the same offers here as at `/v1/ucp/catalog/items`. `profile` writes the discovery document.

The catalogue asks for the scope `offers:read`, like its older sister: which variant of an offer under test is shown
depends on who asks. Whoever needs no account reads the profile, which is public.

Nothing here goes out. `UCP-Agent` is read, but a profile that a stranger names is never fetched, and no right follows
from it: who calls is what the credential says.

What the protocol calls a business outcome (an unknown id) is 200 with `messages`. What is refused before (credentials,
limits, a body of another shape) is the error of everywhere with `messages` added; see `refusals`.
"""
