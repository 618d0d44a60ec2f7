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
    """Return the period between two fields. If the end is missing, it is the end of `default`.

    A missing start is the start of `default`, or WINDOW before another end.
    """
    end = attrs.pop(f"{prefix}to") or default.end
    beginning = attrs.pop(f"{prefix}from")
    if end < _FIRST or (beginning is not None and beginning < _FIRST):
        raise serializers.ValidationError({f"{prefix}from": [f"Must not be before {_FIRST:%Y}."]})
    start = beginning or (default.start if end == default.end else end - WINDOW)
    if not start < end or end - start > _LONGEST:
        raise serializers.ValidationError(
            {f"{prefix}from": [f"Must be before {prefix}to, and at most ten years earlier."]}
        )
    return Window(start, end)


class MonitoringQuery(serializers.QuerySerializer):
    """The version, and the two windows of its scores."""

    refuses_unknown = True

    version = serializers.QueryInt64Field(
        min_value=1, default=None, help_text="The number of the version. Default: the number of the champion."
    )
    against_to = serializers.QueryTimeField(
        default=None, help_text="The end of the comparison window, exclusive. Default: the beginning of the window."
    )
    against_from = serializers.QueryTimeField(
        default=None,
        help_text="The beginning of the comparison window, inclusive. By default, both windows have the same length. "
        "If you send `against_to` with a time other than its default, the default is 30 days before that time.",
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
        min_value=1,
        max_value=PAIRS_MAX,
        default=1_000,
        help_text="The maximum number of scores. The API compares the newest scores.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return {"other": attrs.pop("with"), "window": _window(attrs, "", Window.until(timezone.now())), **attrs}


class WindowSerializer(serializers.ResponseSerializer):
    """A window of time, and the number of its scores."""

    from_ = serializers.DateTimeField(help_text="The beginning of the window, inclusive (UTC).")
    to = serializers.DateTimeField(help_text="The end of the window, exclusive (UTC).")
    scores = serializers.Int64Field(
        help_text="The number of evaluated scores: the newest scores of the window, at most 20,000."
    )
    of = serializers.Int64Field(
        help_text="The number of scores in the window, without the champion's scores that a newer score replaced."
    )
    too_few = serializers.FlagField(
        help_text=f"Whether the window has fewer than {SCORES_MIN} scores, which is too few for a stability index."
    )


class TotalBinSerializer(serializers.ResponseSerializer):
    """A range of totals."""

    from_ = serializers.Int64Field(
        allow_null=True, help_text="The beginning of the range, inclusive. Null if the range has no beginning."
    )
    below = serializers.Int64Field(
        allow_null=True, help_text="The end of the range, exclusive. Null if the range has no end."
    )
    share = serializers.NumberField(
        allow_null=True,
        help_text="The share of the window's scores in this range, from 0 to 1. Null if the window has no scores.",
    )
    share_before = serializers.NumberField(
        allow_null=True,
        help_text="The share of the comparison window's scores in this range, from 0 to 1. Null if the window has no "
        "scores.",
    )


class MissingRateSerializer(serializers.ResponseSerializer):
    """The rate at which an input was missing."""

    input = serializers.TextField(help_text="The input's name in the definition.")
    rate = serializers.NumberField(
        allow_null=True,
        help_text="The share of scores in the window without this input, from 0 to 1. Null if the window has no "
        "scores.",
    )
    rate_before = serializers.NumberField(
        allow_null=True,
        help_text="The share of scores in the comparison window without this input, from 0 to 1. Null if the window "
        "has no scores.",
    )


class OutcomeRatesSerializer(serializers.ResponseSerializer):
    """The share of each outcome among the window's scores."""

    approve = serializers.NumberField(
        allow_null=True, help_text="The share of `approve`, from 0 to 1. Null if there are no scores."
    )
    refer = serializers.NumberField(
        allow_null=True, help_text="The share of `refer`, from 0 to 1. Null if there are no scores."
    )
    decline = serializers.NumberField(
        allow_null=True, help_text="The share of `decline`, from 0 to 1. Null if there are no scores."
    )


class OverridesPageSerializer(serializers.ResponseSerializer):
    """Reviewers' decisions that differ from the proposal of the version's score."""

    decisions = serializers.Int64Field(
        help_text="The number of applications that a reviewer decided after a proposal of the version. The number "
        "includes only proposals that the version made in the window as champion. The proposal must have been an "
        "approval or a rejection. An accepted counteroffer counts as an approval."
    )
    overrides = serializers.Int64Field(
        help_text="The number of these applications whose last decision by a reviewer differs from the proposal."
    )
    rate = serializers.NumberField(
        allow_null=True, help_text="`overrides` divided by `decisions`. Null if there are no decisions."
    )


class MonitoringSerializer(serializers.ResponseSerializer):
    """A comparison of the scores of two windows."""

    model_id = serializers.Int64Field()
    version = serializers.Int32Field(help_text="The number of the version whose scores are compared.")
    window = WindowSerializer(help_text="The window.")
    against = WindowSerializer(help_text="The comparison window.")
    psi = serializers.NumberField(
        allow_null=True,
        help_text="The population stability index (PSI) of the total score, computed over `bins`. Null if one of the "
        "windows has `too_few` scores.",
    )
    bins = TotalBinSerializer(many=True, help_text="The ranges of totals, with the share of scores in each range.")
    missing = MissingRateSerializer(
        many=True,
        help_text="For each input, the rate at which it was missing. If no characteristic and no knockout reads the "
        "input, the rate is 0.",
    )
    outcomes = OutcomeRatesSerializer(help_text="The share of each outcome in the window.")
    overrides = OverridesPageSerializer(help_text="Reviewers' decisions that differ from the proposal.")


class OutcomePairSerializer(serializers.ResponseSerializer):
    """The number of scores with a pair of outcomes."""

    outcome = serializers.TextField(help_text="The outcome of this version.")
    with_outcome = serializers.TextField(help_text="The outcome of the other version.")
    count = serializers.Int64Field(help_text="The number of scores with both outcomes.")


class FlipSerializer(serializers.ResponseSerializer):
    """An application with different outcomes of the two versions."""

    application_id = serializers.TextField()
    total = serializers.Int64Field(help_text="The total of this version.")
    outcome = serializers.TextField(help_text="The outcome of this version.")
    with_total = serializers.Int64Field(help_text="The total of the other version.")
    with_outcome = serializers.TextField(help_text="The outcome of the other version.")


class ComparisonSerializer(serializers.ResponseSerializer):
    """The results of two versions for the same applications."""

    pairs = serializers.Int64Field(help_text="The number of compared scores.")
    table = OutcomePairSerializer(many=True, help_text="The number of scores for each pair of outcomes.")
    flips = FlipSerializer(many=True, help_text="The newest 100 applications with different outcomes.")
    skipped = serializers.Int64Field(
        help_text="The number of scores that can't be compared. Their facts are erased, or lack a fact that the other "
        "version reads."
    )
