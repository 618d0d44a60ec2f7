"""OAuth 2.0 authorization code flow (specification section 5, item 5): a person lets a third party act for them.

`pages` asks for consent, `views` is the token endpoint, `validator` connects django-oauth-toolkit, which implements the
protocol, with our tokens. A client gets an access token of our own format, limited to the granted scopes, and a refresh
token of a family that the person can end.
"""
