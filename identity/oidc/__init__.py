"""Staff single sign-on with OpenID Connect, at the configured issuer.

`environment` reads the settings. `client` implements discovery, the code flow with PKCE, and token validation.
`services` matches the issuer's users to accounts and groups. `pages` contains the pages under `/account/oidc/`, which
browsers request, and the endpoint `/account/oidc/logout`, which the issuer calls. The package emits no events. The
audit stream contains log-ins and log-outs.
"""
