"""Bodies, queries and answers of what is computed over past scores.

`get_fields` adds members whose names are words of Python.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from config.api import serializers
from credit.api.terms.serializers import MomentField
from credit.scoring.monitoring import PAIRS_MAX, SCORES_MIN, WINDOW, Window

_FIRST = datetime(2000, 1, 1, tzinfo=UTC)
_LONGEST = timedelta(days=3_660)


def _window(attrs: dict[str, Any], prefix: str, default: Window) -> Window:
    """Return the window that two members name: by default it ends where `default` does, and is as long as WINDOW."""
    end = attrs.pop(f"{prefix}to") or default.end
    beginning = attrs.pop(f"{prefix}from")
    if end < _FIRST or (beginning is not None and beginning < _FIRST):
        raise serializers.ValidationError({f"{prefix}from": [f"Must not be before {_FIRST:%Y}."]})
    start = beginning or (default.start if end == default.end else end - WINDOW)
    if not start < end or end - start > _LONGEST:
        raise serializers.ValidationError({f"{prefix}from": [f"Must be before {prefix}to, by ten years at most."]})
    return Window(start, end)


class MonitoringQuery(serializers.QuerySerializer):
    """Which scores to look at, and which to compare them with."""

    version = serializers.QueryInt64Field(
        min_value=1, default=None, help_text="A version's number. Default: the champion's."
    )
    against_to = serializers.QueryTimeField(
        default=None, help_text="The end of the window compared with. Default: where it begins."
    )
    against_from = serializers.QueryTimeField(default=None, help_text="Its beginning. Default: the same length before.")
    to = serializers.QueryTimeField(default=None, help_text="The end of the window, which is not in it. Default: now.")

    def get_fields(self) -> dict[str, Any]:
        beginning = serializers.QueryTimeField(
            default=None, help_text="The window's beginning. Default: 30 days before its end."
        )
        return {**super().get_fields(), "from": beginning}

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        window = _window(attrs, "", Window.until(timezone.now()))
        return {"window": window, "against": _window(attrs, "against_", window.before()), **attrs}


class CompareRequestSerializer(serializers.RequestSerializer):
    """Which version to compare with, over the scores of which time."""

    to = MomentField(default=None, help_text="Scores before this moment count. Default: now.")
    limit = serializers.Int32Field(
        min_value=1, max_value=PAIRS_MAX, default=1_000, help_text="How many scores at most, the newest first."
    )

    def get_fields(self) -> dict[str, Any]:
        other = serializers.Int64Field(min_value=1, help_text="The number of the other version.")
        beginning = MomentField(default=None, help_text="From this moment on. Default: 30 days before the end.")
        return {"with": other, "from": beginning, **super().get_fields()}

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return {"other": attrs.pop("with"), "window": _window(attrs, "", Window.until(timezone.now())), **attrs}


class WindowSerializer(serializers.ResponseSerializer):
    """A window, and its scores: `scores` of `of` were counted, the newest."""

    to = serializers.DateTimeField(help_text="The end, which is not in it (UTC).")
    scores = serializers.Int64Field(help_text="How many were counted: the newest.")
    of = serializers.Int64Field(help_text="How many there were.")
    too_few = serializers.FlagField(
        help_text=f"Whether fewer than {SCORES_MIN} scores were counted. Such a window has no stability index."
    )

    def get_fields(self) -> dict[str, Any]:
        beginning = serializers.DateTimeField(help_text="The beginning, which is in it (UTC).")
        return {"from": beginning, **super().get_fields()}


class TotalBinSerializer(serializers.ResponseSerializer):
    """A range of totals: from its beginning, which it holds, to below its end; null where it is open."""

    below = serializers.Int64Field(allow_null=True, help_text="The end, which is not in it; null where it is open.")
    share = serializers.NumberField(allow_null=True, help_text="Mean of the window's scores; null without scores.")
    share_before = serializers.NumberField(allow_null=True, help_text="Number of scores in the window of comparison.")

    def get_fields(self) -> dict[str, Any]:
        beginning = serializers.Int64Field(
            allow_null=True, help_text="The beginning, which is in it; null where it is open."
        )
        return {"from": beginning, **super().get_fields()}


class MissingRateSerializer(serializers.ResponseSerializer):
    """How often an input was missing."""

    input = serializers.TextField(help_text="The input's name in the definition.")
    rate = serializers.NumberField(
        allow_null=True, help_text="How often it was missing in the window, from 0 to 1; null without scores."
    )
    rate_before = serializers.NumberField(allow_null=True, help_text="The same of the scores compared with.")


class OutcomeRatesSerializer(serializers.ResponseSerializer):
    """The share of each outcome among the window's scores."""

    approve = serializers.NumberField(allow_null=True, help_text="From 0 to 1; null without scores.")
    refer = serializers.NumberField(allow_null=True, help_text="From 0 to 1; null without scores.")
    decline = serializers.NumberField(allow_null=True, help_text="From 0 to 1; null without scores.")


class OverridesPageSerializer(serializers.ResponseSerializer):
    """Reviewers' decisions against the champion's proposal, as a share of all decisions after a proposal."""

    decisions = serializers.Int64Field(help_text="How many people made after a proposal.")
    overrides = serializers.Int64Field(help_text="How many of them went against it.")
    rate = serializers.NumberField(
        allow_null=True, help_text="`overrides` of `decisions`, from 0 to 1; null without decisions."
    )


class MonitoringSerializer(serializers.ResponseSerializer):
    """How the scores of a window differ from those of another."""

    model_id = serializers.Int64Field()
    version = serializers.Int32Field(help_text="The number of the version whose scores were looked at.")
    window = WindowSerializer(help_text="The window.")
    against = WindowSerializer(help_text="The window of comparison.")
    psi = serializers.NumberField(
        allow_null=True,
        help_text="The stability index (PSI) of the total over `bins`; null if either window has `too_few` scores.",
    )
    bins = TotalBinSerializer(many=True, help_text="Ranges of totals, and the share of scores in each.")
    missing = MissingRateSerializer(many=True, help_text="How often each input was missing.")
    outcomes = OutcomeRatesSerializer(help_text="How often each outcome came up in the window.")
    overrides = OverridesPageSerializer(help_text="How often people decided otherwise.")


class OutcomePairSerializer(serializers.ResponseSerializer):
    """How many had one outcome by the version and the other by the one compared with."""

    outcome = serializers.TextField(help_text="By this version.")
    with_outcome = serializers.TextField(help_text="By the version compared with.")
    count = serializers.Int64Field(help_text="How many scores had both.")


class FlipSerializer(serializers.ResponseSerializer):
    """An application that the other version would have decided otherwise."""

    application_id = serializers.TextField()
    total = serializers.Int64Field(help_text="By this version.")
    outcome = serializers.TextField(help_text="By this version.")
    with_total = serializers.Int64Field(help_text="By the version compared with.")
    with_outcome = serializers.TextField(help_text="By the version compared with.")


class ComparisonSerializer(serializers.ResponseSerializer):
    """Two versions on the same people."""

    pairs = serializers.Int64Field(help_text="How many scores were computed by both.")
    table = OutcomePairSerializer(many=True, help_text="How many had which two outcomes.")
    flips = FlipSerializer(many=True, help_text="Some of those with two different outcomes.")
    skipped = serializers.Int64Field(
        help_text="Scores whose facts are erased, or lack one that the other version asks for."
    )
