"""OAuth 2.0 authorization code flow (specification section 5, item 5): a person lets a third party act for them.

`pages` asks the person, `views` is the token endpoint, `validator` connects django-oauth-toolkit, which does the
protocol, with our tokens: what a client gets is an access token of our own shape, limited to the scopes that were
consented to, and a refresh token of a family that the person can end.
"""
