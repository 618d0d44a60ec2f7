import re
from typing import Any
from urllib.parse import urlsplit

from rest_framework import serializers

from claims.machine import LEVELS, MACHINE, OWN_LEVELS, VISIBILITIES
from config.api.serializers import (
    IdField,
    OneOfField,
    PageQuery,
    RequestSerializer,
    ResponseSerializer,
    StatusField,
    StrictListField,
    TextField,
)

PUBLICATION_MAX_LENGTH = 512
EVIDENCE_MAX = 50
EVIDENCE_MAX_LENGTH = 2_048

# Browsers drop control characters before an address, and tabs and line ends within it, so `java\tscript:` is a scheme.
_IGNORED_BY_BROWSERS = re.compile(r"^[\x00-\x20]+|[\t\n\r]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):(?P<gap>\s?)")
# Schemes that run or embed something; a space after the colon does not make a word of them.
_ACTIVE_SCHEMES = frozenset({"javascript", "vbscript", "data", "blob", "file", "filesystem", "about", "view-source"})


class EvidenceField(TextField):
    """One piece of evidence: an http(s) address, or the name or text of a document. Nothing is ever fetched."""

    default_error_messages = {
        "scheme": "An address must begin with http:// or https://.",
        "host": "An address must name a host.",
    }

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        seen = _IGNORED_BY_BROWSERS.sub("", text)
        scheme = _SCHEME.match(seen)
        if scheme is None:
            return text
        name = scheme[1].lower()
        if name not in {"http", "https"}:
            # "Contract: signed copy" is a document; `ftp://…` and `mailto:…` are addresses.
            if name in _ACTIVE_SCHEMES or not scheme["gap"]:
                self.fail("scheme")
            return text
        try:
            host = urlsplit(seen).hostname
        except ValueError:
            host = None
        if not host:
            self.fail("host")
        return text


def _evidence(**options: Any) -> Any:
    child = EvidenceField(min_length=1, max_length=EVIDENCE_MAX_LENGTH)
    return StrictListField(child=child, max_length=EVIDENCE_MAX, allow_null=True, required=False, **options)


class ClaimPayload(RequestSerializer):
    """CreateClaim without `user_id`, as it waits in staging; levels beyond one's own are set on the claim itself."""

    publication_id = TextField(min_length=1, max_length=PUBLICATION_MAX_LENGTH)
    claim_type = TextField(min_length=1, max_length=64)
    evidence = _evidence()
    notes = TextField(allow_null=True, required=False)
    verification_level = OneOfField([level for level in LEVELS if level in OWN_LEVELS], allow_null=True, required=False)
    visibility = OneOfField(VISIBILITIES, allow_null=True, required=False)


class ClaimBody(RequestSerializer):
    """CreateClaim."""

    user_id = IdField()
    publication_id = TextField(
        min_length=1, max_length=PUBLICATION_MAX_LENGTH, help_text="A DOI in any spelling, or a work identifier."
    )
    claim_type = TextField(min_length=1, max_length=64, help_text="For example `author` or `contributor`.")
    evidence = _evidence(help_text="Addresses (http or https, never fetched) or documents.")
    notes = TextField(allow_null=True, required=False)
    verification_level = OneOfField(LEVELS, allow_null=True, required=False, help_text="Default: `self_asserted`.")
    visibility = OneOfField(VISIBILITIES, allow_null=True, required=False, help_text="Default: `private`.")


class ClaimChangeBody(RequestSerializer):
    """UpdateClaim: replaces the members that are present and not null."""

    evidence = _evidence()
    notes = TextField(allow_null=True, required=False)
    verification_level = OneOfField(LEVELS, allow_null=True, required=False)
    visibility = OneOfField(VISIBILITIES, allow_null=True, required=False)


class ClaimStatusBody(RequestSerializer):
    """UpdateClaimStatus."""

    status = StatusField(MACHINE.statuses)
    updated_by = IdField()
    reason = TextField(allow_null=True, default=None)


class ClaimQuery(PageQuery):
    user_id = IdField(required=False, help_text="Whose claims; another's only together with `publication_id`.")
    publication_id = TextField(
        min_length=1,
        max_length=PUBLICATION_MAX_LENGTH,
        required=False,
        help_text="In any spelling. Also finds what others show to the caller.",
    )
    status = StatusField(MACHINE.statuses, required=False)
    verification_level = OneOfField(LEVELS, required=False)


class ClaimAnswer(ResponseSerializer):
    """A claim."""

    id = serializers.UUIDField()
    user_id = TextField()
    publication_id = TextField()
    claim_type = TextField()
    status = StatusField(MACHINE.statuses)
    verification_level = OneOfField(LEVELS)
    visibility = OneOfField(VISIBILITIES)
    evidence: Any = StrictListField(child=TextField())
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    approved_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)
    notes = TextField(allow_null=True)
