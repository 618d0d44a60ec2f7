"""The header `UCP-Agent`: the caller's profile and protocol version.

The header is a dictionary of RFC 8941, section 3.2: `profile="https://agent.example/profile.json"`, and optionally a
`version`. The URL of the profile is untrusted. It is validated, and never fetched.
"""

import re
from urllib.parse import urlsplit

from credit.api.commerce.discovery import VERSION
from credit.api.commerce.refusals import InvalidProfileUrl, VersionUnsupported

PROFILE_MAX_LENGTH = 2_048
_TEXT = r'"(?:[ !#-\[\]-~]|\\["\\])*"'
_BARE = rf"{_TEXT}|[A-Za-z*][\w!#$%&'*+.^`|~:/-]*|-?[0-9]{{1,15}}(?:\.[0-9]{{1,3}})?|:[A-Za-z0-9+/=]*:|\?[01]"
_KEY = r"[a-z*][a-z0-9_.*-]*"
_MEMBER = re.compile(rf'({_KEY})(?:=({_BARE}|\((?:[^()"]|{_TEXT})*\)))?', re.ASCII)
_PARAMETER = re.compile(rf" *; *({_KEY})(?:=({_BARE}))?", re.ASCII)
_COMMA = re.compile(r"[ \t]*,[ \t]*")
_ESCAPE = re.compile(r"\\(.)")


def check_agent(header: str | None, versions: list[str]) -> None:
    """Validate the header `UCP-Agent`. The header is optional, because the credential identifies the caller.

    `versions` are the values of the query parameter `version`. Raises InvalidProfileUrl for a header without a profile.
    Raises VersionUnsupported for any version except VERSION.
    """
    if header is not None:
        members = _read_members(header)
        profiles = [value for name, value in members if name == "profile"]
        if not profiles or not _is_address(profiles[-1]):
            message = 'UCP-Agent must have a profile: profile="https://agent.example/.well-known/ucp".'
            raise InvalidProfileUrl(message, details=[{"field": "UCP-Agent", "message": message}])
        versions = [*versions, *(value for name, value in members if name == "version")]
    for version in versions:
        if version != VERSION:
            raise VersionUnsupported(version)


def _read_members(header: str) -> list[tuple[str, str]]:
    """Return the (name, value) pairs of a dictionary's items and parameters.

    For an invalid header, return an empty list.
    """
    members, at, text = [], 0, header.strip(" ")
    while item := _MEMBER.match(text, at):
        members.append((item[1], _plain(item[2] or "")))
        at = item.end()
        while item := _PARAMETER.match(text, at):
            members.append((item[1], _plain(item[2] or "")))
            at = item.end()
        if at == len(text):
            return members
        if not (comma := _COMMA.match(text, at)):
            break
        at = comma.end()
    return []


def _plain(value: str) -> str:
    return _ESCAPE.sub(r"\1", value[1:-1]) if value.startswith('"') else value


def _is_address(text: str) -> bool:
    if len(text) > PROFILE_MAX_LENGTH or any(character.isspace() for character in text):
        return False
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)
