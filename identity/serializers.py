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
