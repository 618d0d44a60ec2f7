"""Requests, queries, and responses of evaluations of past scores."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from config.api import serializers
from credit.api.terms.serializers import MomentField
from credit.scoring.monitoring import PAIRS_MAX, SCORES_MIN, WINDOW, Window

_FIRST = datetime(2000, 1, 1, tzinfo=UTC)
_LONGEST = timedelta(days=3_660)


def _window(attrs: dict[str, Any], prefix: str, default: Window) -> Window:
    """Return the window of two fields. By default it has the end of `default`, and the length WINDOW."""
    end = attrs.pop(f"{prefix}to") or default.end
    beginning = attrs.pop(f"{prefix}from")
    if end < _FIRST or (beginning is not None and beginning < _FIRST):
        raise serializers.ValidationError({f"{prefix}from": [f"Must not be before {_FIRST:%Y}."]})
    start = beginning or (default.start if end == default.end else end - WINDOW)
    if not start < end or end - start > _LONGEST:
        raise serializers.ValidationError({f"{prefix}from": [f"Must be before {prefix}to, by ten years at most."]})
    return Window(start, end)


class MonitoringQuery(serializers.QuerySerializer):
    """The scores to evaluate, and the scores for the comparison."""

    refuses_unknown = True

    version = serializers.QueryInt64Field(
        min_value=1, default=None, help_text="A version's number. Default: the champion's."
    )
    against_to = serializers.QueryTimeField(
        default=None, help_text="The end of the window of comparison, exclusive. Default: the beginning of the window."
    )
    against_from = serializers.QueryTimeField(
        default=None, help_text="The beginning of the window of comparison. Default: the same length before its end."
    )
    to = serializers.QueryTimeField(default=None, help_text="The end of the window, exclusive. Default: now.")
    from_ = serializers.QueryTimeField(
        default=None, help_text="The beginning of the window, inclusive. Default: 30 days before its end."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        window = _window(attrs, "", Window.until(timezone.now()))
        return {"window": window, "against": _window(attrs, "against_", window.before()), **attrs}


class CompareRequestSerializer(serializers.RequestSerializer):
    """The version to compare with, and the period of the scores."""

    with_ = serializers.Int64Field(min_value=1, help_text="The number of the other version.")
    from_ = MomentField(
        default=None, help_text="The beginning of the period, inclusive. Default: 30 days before the end."
    )
    to = MomentField(default=None, help_text="The end of the period, exclusive. Default: now.")
    limit = serializers.Int32Field(
        min_value=1, max_value=PAIRS_MAX, default=1_000, help_text="The maximum number of scores, the newest first."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return {"other": attrs.pop("with"), "window": _window(attrs, "", Window.until(timezone.now())), **attrs}


class WindowSerializer(serializers.ResponseSerializer):
    """A window of time. `scores` is the number of counted scores of the total `of`."""

    from_ = serializers.DateTimeField(help_text="The beginning of the window, inclusive (UTC).")
    to = serializers.DateTimeField(help_text="The end of the window, exclusive (UTC).")
    scores = serializers.Int64Field(
        help_text="The number of counted scores. If the window has more, the newest ones count."
    )
    of = serializers.Int64Field(help_text="The number of scores in the window.")
    too_few = serializers.FlagField(
        help_text=f"Whether fewer than {SCORES_MIN} scores were counted. Such a window has no stability index."
    )


class TotalBinSerializer(serializers.ResponseSerializer):
    """A range of totals."""

    from_ = serializers.Int64Field(
        allow_null=True, help_text="The beginning of the range, inclusive; null for no bound."
    )
    below = serializers.Int64Field(allow_null=True, help_text="The end of the range, exclusive; null for no bound.")
    share = serializers.NumberField(
        allow_null=True, help_text="The share of the window's scores in this range, from 0 to 1; null if none."
    )
    share_before = serializers.NumberField(
        allow_null=True,
        help_text="The share of the comparison window's scores in this range, from 0 to 1; null if none.",
    )


class MissingRateSerializer(serializers.ResponseSerializer):
    """The rate at which an input was missing."""

    input = serializers.TextField(help_text="The input's name in the definition.")
    rate = serializers.NumberField(
        allow_null=True,
        help_text="The share of scores in the window without this input, from 0 to 1; null if there are no scores.",
    )
    rate_before = serializers.NumberField(allow_null=True, help_text="The same rate in the window of comparison.")


class OutcomeRatesSerializer(serializers.ResponseSerializer):
    """The share of each outcome among the window's scores."""

    approve = serializers.NumberField(allow_null=True, help_text="From 0 to 1; null if there are no scores.")
    refer = serializers.NumberField(allow_null=True, help_text="From 0 to 1; null if there are no scores.")
    decline = serializers.NumberField(allow_null=True, help_text="From 0 to 1; null if there are no scores.")


class OverridesPageSerializer(serializers.ResponseSerializer):
    """Reviewers' decisions against the champion's proposal, as a share of all decisions after a proposal."""

    decisions = serializers.Int64Field(help_text="The number of decisions by reviewers after a proposal.")
    overrides = serializers.Int64Field(help_text="The number of these decisions that differ from the proposal.")
    rate = serializers.NumberField(
        allow_null=True, help_text="`overrides` of `decisions`, from 0 to 1; null if there are no decisions."
    )


class MonitoringSerializer(serializers.ResponseSerializer):
    """A comparison of the scores of two windows."""

    model_id = serializers.Int64Field()
    version = serializers.Int32Field(help_text="The number of the version whose scores are compared.")
    window = WindowSerializer(help_text="The window.")
    against = WindowSerializer(help_text="The window of comparison.")
    psi = serializers.NumberField(
        allow_null=True,
        help_text=(
            "The stability index (PSI) of the total over `bins`; null if one of the windows has `too_few` scores."
        ),
    )
    bins = TotalBinSerializer(many=True, help_text="Ranges of totals, and the share of scores in each.")
    missing = MissingRateSerializer(many=True, help_text="The rate at which each input was missing.")
    outcomes = OutcomeRatesSerializer(help_text="The share of each outcome in the window.")
    overrides = OverridesPageSerializer(help_text="The share of decisions that differ from the model's proposal.")


class OutcomePairSerializer(serializers.ResponseSerializer):
    """The number of scores with a pair of outcomes."""

    outcome = serializers.TextField(help_text="The outcome from this version.")
    with_outcome = serializers.TextField(help_text="The outcome from the compared version.")
    count = serializers.Int64Field(help_text="The number of scores with both outcomes.")


class FlipSerializer(serializers.ResponseSerializer):
    """An application for which the other version has another outcome."""

    application_id = serializers.TextField()
    total = serializers.Int64Field(help_text="The outcome from this version.")
    outcome = serializers.TextField(help_text="The outcome from this version.")
    with_total = serializers.Int64Field(help_text="The outcome from the compared version.")
    with_outcome = serializers.TextField(help_text="The outcome from the compared version.")


class ComparisonSerializer(serializers.ResponseSerializer):
    """The results of two versions for the same applications."""

    pairs = serializers.Int64Field(help_text="The number of scores that both versions computed.")
    table = OutcomePairSerializer(many=True, help_text="The number of scores for each pair of outcomes.")
    flips = FlipSerializer(many=True, help_text="A sample of the scores with two different outcomes.")
    skipped = serializers.Int64Field(
        help_text="Scores that can't be compared: their facts are erased, or lack one that the other version reads."
    )
