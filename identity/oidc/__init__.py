"""Staff sign-in by OpenID Connect: one issuer, which the settings name, for staff alone.

`environment` reads the settings. `client` speaks the protocol: discovery, the code flow with PKCE, tokens. `services`
decides who a person is, and which groups they have. `pages` are the three addresses under `/account/oidc/`. Callers are
browsers, and the issuer for `/account/oidc/logout`. It emits no events; the audit stream has log-ins and log-outs.
"""
