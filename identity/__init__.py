"""Accounts, credentials, and customers' identities.

Users, the credentials they call with (JWT, API keys, signed requests), the scopes that limit credentials, and the
signing keys behind tokens. Every other app learns from `request.user` and `request.auth` who calls.

`kyc` verifies a person's identity and `bank` links their bank, both through an open-banking provider (`providers`):
the built-in sandbox, or Plaid. They ask for the scopes `identity:read` and `identity:write`, and `bankdata:read` and
`bankdata:write`.

`bank`, `developers` and `kyc` are above `oauth`, which is above `accounts`, which is above `access` and `providers`.
`lint-imports` checks this order.

Events: `api_key.created`, `api_key.rotated`, `api_key.revoked`, and those that `kyc` and `bank` name.
"""
