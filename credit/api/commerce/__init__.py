"""The Universal Commerce Protocol (version 2026-08-25): its business profile, and the catalog of offers as products.

A product is an offer. A variant is an offer with a term. A price is the amount financed. The `metadata` and the text of
each product state that the price is the amount financed. `catalog` selects offers by the rules of
`credit.offers.catalogue`, so the catalog has the same offers as `/v1/ucp/catalog/items`. `discovery` creates the
discovery document.

Like `/v1/ucp/catalog/items`, the catalog requires the scope `offers:read`, because the A/B variant that the API returns
depends on the caller. The profile is public and needs no account.

The server validates the header `UCP-Agent`, but never fetches the profile in it. Only the credential identifies the
caller.

For an unknown id, the API returns 200 with `messages`, because the protocol treats this case as a business outcome.
Other errors (credentials, limits, invalid bodies) are the platform's usual errors, with `messages` added (`refusals`).
"""
