"""Staff single sign-on with OpenID Connect, at the one issuer of the settings.

`environment` reads the settings. `client` implements the protocol: discovery, the code flow with PKCE, and tokens.
`services` matches a person to an account and its groups. `pages` has the three addresses under `/account/oidc/`.
Callers are browsers, and the issuer for `/account/oidc/logout`. The package emits no events. The audit stream has
log-ins and log-outs.
"""
