"""How a version's scores hold up over time, as plots: stability, outcomes, and how often people decide otherwise."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.core.cache import cache

from config.backoffice.html import NOTHING
from credit.console import score_words as words
from credit.console.charts import Plot, Series, draw_plot
from credit.core.card import APPROVE, DECLINE, REFER
from credit.core.version_machine import CHAMPION, PUBLISHED
from credit.models.scoring import ModelVersion
from credit.scoring.monitoring import over_time

WINDOWS = 6  # of thirty days each
CACHE_SECONDS = 300  # the figures are counted over many scores
# By custom; what lies between calls for a look.
STABLE, UNSTABLE = 0.1, 0.25
_SCALE: dict[str, Any] = {"least_top": 0.3, "most_top": 0.5, "marks": (STABLE, UNSTABLE)}
_OUTCOMES = ((APPROVE, "good"), (REFER, "wait"), (DECLINE, "bad"))


def monitoring_page(versions: Sequence[ModelVersion], number: int | None, *, now: datetime) -> dict[str, Any]:
    """Return what the page says of the version with this number, of the champion without one, of the newest without
    either; `versions` are those that were ever published, the newest first.
    """
    live = [one for one in versions if (one.status, one.role) == (PUBLISHED, CHAMPION)]
    chosen = next((one for one in versions if one.number == number), None) or next(iter([*live, *versions]), None)
    page = {"versions": versions, "chosen": chosen, "months": WINDOWS}
    if chosen is None:
        return page
    key = f"backoffice.monitoring.{chosen.pk}"
    found = cache.get_or_set(key, lambda: list(over_time(chosen, end=now, number=WINDOWS)), CACHE_SECONDS)
    return {**page, **plots_of(chosen, found or [])}


def plots_of(version: ModelVersion, found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    if not found:
        return {"is_empty": True}
    latest, labels = found[-1], [f"{one['window']['from']:%Y-%m-%d}" for one in found]
    return {
        "is_empty": False,
        "latest": latest,
        "verdict": verdict(latest["psi"]),
        "capped": any(one["window"]["of"] > one["window"]["scores"] for one in found),
        "plots": [_stability(found, labels), _totals(latest), _outcomes(found, labels), _overrides(found, labels)],
        "characteristics": _characteristics(version, found, labels),
        "missing": [
            (one["input"], percent(one["rate"]), percent(one["rate_before"]))
            for one in latest["missing"]
            if one["rate"] or one["rate_before"]
        ],
    }


def percent(share: float | None) -> str:
    return NOTHING if share is None else f"{100 * share:.3g} %"


def index(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"


def verdict(value: float | None) -> tuple[str, str]:
    if value is None:
        return "nothing to compare", "quiet"
    if value < STABLE:
        return "stable", "good"
    return ("look at it", "ask") if value <= UNSTABLE else ("not stable", "bad")


def _stability(found: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> dict[str, Any]:
    counted = ", ".join(str(one["window"]["scores"]) for one in found)
    about = (
        f"Against the first window with scores. By custom below {STABLE:g} is stable and above {UNSTABLE:g} is not; "
        f"few scores say little. The windows have {counted} scores."
    )
    values = [one["psi"] for one in found]
    drawn = _over_time("Stability of the totals (PSI)", labels, values, "PSI", show=index, **_SCALE)
    return {"name": "psi", "about": about, "drawn": drawn}


def _over_time(
    title: str,
    labels: Sequence[str],
    values: Sequence[float | None],
    name: str,
    *,
    show: Callable[[Any], str],
    **scale: Any,
) -> dict[str, Any]:
    summary, series = f"{name} {show(values[-1])} in the latest window", [Series(name, "wait", values)]
    return draw_plot(Plot(title, labels, series, summary, ticks=_short(labels), show=show, **scale))


def _short(labels: Sequence[str]) -> list[tuple[int, str]]:
    return [(at, label[5:]) for at, label in enumerate(labels)]


def _totals(latest: Mapping[str, Any]) -> dict[str, Any]:
    shares = [[one[name] for one in latest["bins"]] for name in ("share_before", "share")]
    labels = [_bin_name(one) for one in latest["bins"]]
    series = [Series("first window", "quiet", shares[0]), Series("latest window", "wait", shares[1])]
    summary = f"{len(labels)} bins of totals"
    most = max((share or 0 for each in shares for share in each), default=0)
    ticks = [(at, str(one["from"])) for at, one in enumerate(latest["bins"]) if one["from"] is not None]
    plot = Plot("Totals", labels, series, summary, ticks=ticks, least_top=most or 1, is_stacked=False, show=percent)
    first_day = f"{latest['window']['from']:%Y-%m-%d}"
    about = f"The window from {first_day} beside the first, in bins of equal frequency there, each at its start."
    return {"name": "totals", "about": about, "drawn": draw_plot(plot), "place": "Total"}


def _bin_name(one: Mapping[str, Any]) -> str:
    if one["from"] is None:
        return "all" if one["below"] is None else f"< {one['below']}"
    return f"≥ {one['from']}" if one["below"] is None else f"{one['from']}{chr(0x2013)}{one['below'] - 1}"


def _outcomes(found: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> dict[str, Any]:
    series = [Series(outcome, tone, [one["outcomes"][outcome] for one in found]) for outcome, tone in _OUTCOMES]
    summary = ", ".join(f"{percent(one.values[-1])} {one.name}" for one in series)
    plot = Plot("Outcomes", labels, series, f"{summary} in the latest window", ticks=_short(labels), show=percent)
    return {"name": "outcomes", "about": "Shares of the scores of each window.", "drawn": draw_plot(plot)}


def _overrides(found: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> dict[str, Any]:
    overrides, decisions = (sum(one["overrides"][name] for one in found) for name in ("overrides", "decisions"))
    about = f"People decided {decisions} times after a proposal to approve or decline, {overrides} times otherwise."
    rates = [one["overrides"]["rate"] for one in found]
    drawn = _over_time("Overrides", labels, rates, "override rate", show=percent, least_top=0.1)
    return {"name": "overrides", "about": about, "drawn": drawn}


def _characteristics(
    version: ModelVersion, found: Sequence[Mapping[str, Any]], labels: Sequence[str]
) -> list[dict[str, Any]]:
    bins = {one["name"]: words.bins_in_words(one["bins"]) for one in version.definition["characteristics"]}
    shown = []
    for position, one in enumerate(found[-1]["characteristics"]):
        history = [each["characteristics"][position]["csi"] for each in found]
        title = f"Stability of {one['name']} (CSI)"
        shown.append(
            {
                "name": one["name"],
                "csi": one["csi"],
                "shown": index(one["csi"]),
                "verdict": verdict(one["csi"]),
                "drawn": _over_time(title, labels, history, "CSI", show=index, **_SCALE),
                "bins": [
                    (bins[one["name"]][each["bin"]], percent(each["share_before"]), percent(each["share"]))
                    for each in one["bins"]
                ],
            }
        )
    return sorted(shown, key=lambda one: -(one["csi"] or 0))
