import re
from typing import Any
from urllib.parse import urlsplit

from rest_framework.exceptions import ValidationError

from claims.doi import fault_of
from claims.machine import LEVELS, MACHINE, OWN_LEVELS, VISIBILITIES
from claims.models import Claim
from config.api import serializers

PUBLICATION_MAX_LENGTH = 512

# Browsers ignore leading control characters, and all tabs and line ends. For example, browsers parse `java\tscript:` as
# the scheme `javascript:`.
_IGNORED_BY_BROWSERS = re.compile(r"^[\x00-\x20]+|[\t\n\r]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):(?P<gap>\s?)")
# Schemes that execute or embed content. Browsers accept these schemes with a space after the colon.
_ACTIVE_SCHEMES = frozenset({"javascript", "vbscript", "data", "blob", "file", "filesystem", "about", "view-source"})


class EvidenceField(serializers.TextField):
    """A piece of evidence: an http(s) URL, or the name or text of a document. The API never fetches URLs."""

    default_error_messages = {
        "scheme": "The URL must begin with http:// or https://.",
        "host": "The URL must have a host.",
    }

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        seen = _IGNORED_BY_BROWSERS.sub("", text)
        scheme = _SCHEME.match(seen)
        if scheme is None:
            return text
        name = scheme[1].lower()
        if name not in {"http", "https"}:
            # "Contract: signed copy" is a document title, but `ftp://…` and `mailto:…` are URLs.
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
    child = EvidenceField(min_length=1, max_length=2_048)
    return serializers.ListField(child=child, max_length=50, allow_null=True, required=False, **options)


class PublicationField(serializers.TextField):
    """An identifier of a publication."""

    def to_internal_value(self, data: Any) -> str:
        identifier = super().to_internal_value(data)
        if fault := fault_of(identifier):
            raise ValidationError(fault)
        return identifier


class ClaimRequestSerializer(serializers.RequestSerializer):
    """A claim to create."""

    user_id = serializers.IdField(help_text="The claimant: your own user_id, as a string.")
    publication_id = PublicationField(
        min_length=1,
        max_length=PUBLICATION_MAX_LENGTH,
        help_text="An external id (such as a DOI, an arXiv id, or an ISBN), or a work identifier.",
    )
    claim_type = serializers.TextField(
        min_length=1, max_length=64, help_text="The kind of the claim, such as `author` or `contributor`."
    )
    evidence = _evidence(help_text="URLs (http or https) or documents. The API never fetches them.")
    notes = serializers.TextField(
        allow_null=True, required=False, help_text="Human-readable notes. Null if there are none."
    )
    verification_level = serializers.OneOfField(
        LEVELS,
        allow_null=True,
        required=False,
        help_text="How the claim is verified. Only reviewers can set `source_verified` and `institution_verified`. "
        "Default: `self_asserted`.",
    )
    visibility = serializers.OneOfField(
        VISIBILITIES, allow_null=True, required=False, help_text="The visibility of the claim. Default: `private`."
    )


class ClaimPayload(ClaimRequestSerializer):
    """A claim that waits for the approval of its owner: the fields of `ClaimRequestSerializer` without `user_id`.

    `verification_level` accepts only levels that owners can set.
    """

    user_id = None  # type: ignore[assignment]  # None removes an inherited field
    verification_level = serializers.OneOfField(
        [level for level in LEVELS if level in OWN_LEVELS], allow_null=True, required=False
    )


class ClaimChangeRequestSerializer(serializers.RequestSerializer):
    """Changes of a claim. Fields that are absent or null stay unchanged."""

    evidence = _evidence()
    notes = serializers.TextField(
        allow_null=True, required=False, help_text="Human-readable notes. Null changes nothing."
    )
    verification_level = serializers.OneOfField(
        LEVELS, allow_null=True, required=False, help_text="How the claim is verified. Null changes nothing."
    )
    visibility = serializers.OneOfField(
        VISIBILITIES, allow_null=True, required=False, help_text="The visibility of the claim. Null changes nothing."
    )


class ClaimStatusRequestSerializer(serializers.RequestSerializer):
    """A status change of a claim."""

    status = serializers.StatusField(MACHINE.statuses, help_text="The new status.")
    updated_by = serializers.IdField()
    reason = serializers.TextField(**serializers.NULLABLE, help_text="A human-readable reason. Null if there is none.")


class ClaimFilter(serializers.FilterSet):
    status = serializers.QueryFilter(serializers.StatusField(MACHINE.statuses, required=False))
    verification_level = serializers.QueryFilter(
        serializers.OneOfField(LEVELS, required=False, help_text="Only claims with this verification level.")
    )


class ClaimQuery(serializers.PageQuery):
    filterset_class = ClaimFilter

    user_id = serializers.IdField(
        required=False,
        help_text="The `user_id` of the claimant. To list the claims of another account, also send `publication_id`.",
    )
    publication_id = PublicationField(
        min_length=1,
        max_length=PUBLICATION_MAX_LENGTH,
        required=False,
        help_text="The publication's id, in any supported spelling. The list then has only claims to this publication.",
    )


class ClaimSerializer(serializers.ModelResponseSerializer):
    """A claim."""

    evidence = serializers.ListField(child=serializers.TextField())

    class Meta:
        model = Claim
        fields = [
            "id", "user_id", "publication_id", "claim_type", "status", "verification_level", "visibility", "evidence",
            "created_at", "updated_at", "approved_at", "revoked_at", "notes",
        ]  # fmt: skip
