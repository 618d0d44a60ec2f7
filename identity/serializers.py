"""Bodies and answers of the token endpoints."""

from typing import Any

from config.api.fields import FlagField, IdField, Int64Field, StrictListField, TextField
from config.api.serializers import Answer, Strict


class LoginBody(Strict):
    """A user name and its password."""

    username = IdField()
    password = TextField(min_length=1, max_length=4096)


class RefreshBody(Strict):
    """A refresh token."""

    refresh_token = TextField(min_length=1, max_length=512)


class TokenAnswer(Answer):
    """A pair of tokens; lifetimes are in seconds."""

    access_token = TextField()
    token_type = TextField()
    expires_in = Int64Field()
    refresh_token = TextField()
    refresh_expires_in = Int64Field()
    scope = TextField()


class CallerAnswer(Answer):
    """Who the caller is."""

    id = Int64Field()
    user_id = TextField()
    username = TextField()
    email = TextField()
    is_staff = FlagField()
    groups: Any = StrictListField(child=TextField())
    scopes: Any = StrictListField(child=TextField())


class GrantBody(Strict):
    """What a client sends to the token endpoint (RFC 6749): which members are needed depends on `grant_type`."""

    grant_type = TextField(max_length=255, required=False, help_text="authorization_code or refresh_token")
    code = TextField(max_length=512, required=False)
    redirect_uri = TextField(max_length=2048, required=False)
    code_verifier = TextField(max_length=128, required=False)
    refresh_token = TextField(max_length=512, required=False)
    scope = TextField(max_length=1024, required=False)
    client_id = TextField(max_length=255, required=False)
    client_secret = TextField(max_length=512, required=False)


class RevocationBody(Strict):
    """What a client sends to end a token (RFC 7009)."""

    token = TextField(min_length=1, max_length=4096)
    token_type_hint = TextField(max_length=64, required=False)
    client_id = TextField(max_length=255, required=False)
    client_secret = TextField(max_length=512, required=False)
