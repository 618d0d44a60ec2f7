"""Accounts, credentials, and the verification of identities.

This app contains the users, their credentials (JWTs, API keys, and signed requests), the scopes that limit credentials,
and the keys that sign tokens. Other apps identify the caller by `request.user` and `request.auth`.

`kyc` verifies a user's identity, and `bank` links the user's bank. Both packages use an open-banking vendor from
`providers`: the built-in sandbox, Plaid, or another adapter. Their endpoints require the scopes `identity:read` and
`identity:write`, or `bankdata:read` and `bankdata:write`.

The packages form four layers: (`bank`, `developers`, `kyc`), `oauth`, `accounts`, and (`access`, `providers`). A
package may import only packages of later layers. `lint-imports` checks these layers.

Events: `api_key.created`, `api_key.rotated`, `api_key.revoked`, and the events of `kyc` and `bank`.
"""
