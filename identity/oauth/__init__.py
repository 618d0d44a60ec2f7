"""The OAuth 2.0 authorization code flow (specification section 5, item 5): a user authorizes an app.

`pages` requests the user's consent, and `views` contains the token endpoint. django-oauth-toolkit implements the
protocol, and `validator` connects it to the platform's tokens. An app gets a refresh token, and an access token in the
platform's format with the granted scopes. The user can revoke the refresh token and all later tokens together.
"""
