"""Accounts, credentials, and customers' identities.

This app has the users, their credentials (JWT, API keys, signed requests), the scopes that limit credentials, and the
keys that sign tokens. Other apps identify the caller by `request.user` and `request.auth`.

`kyc` verifies a person's identity and `bank` links their bank. Both use an open-banking vendor (`providers`): the
built-in sandbox, or Plaid. They require the scopes `identity:read` and `identity:write`, and `bankdata:read` and
`bankdata:write`.

`bank`, `developers` and `kyc` are above `oauth`, which is above `accounts`, which is above `access` and `providers`.
`lint-imports` checks this order.

Events: `api_key.created`, `api_key.rotated`, `api_key.revoked`, and the events of `kyc` and `bank`.
"""
