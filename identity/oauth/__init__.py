"""OAuth 2.0 authorization code flow (specification section 5, item 5): a person authorizes an app.

`pages` requests consent, and `views` has the token endpoint. `validator` connects django-oauth-toolkit, which
implements the protocol, to the platform's tokens. An app gets an access token in the platform's format, limited to the
granted scopes. It also gets a refresh token. The user can revoke the refresh
token and its successors together.
"""
