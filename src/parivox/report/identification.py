"""What reports say of identification: conditions, searches, who is named, smaller lists.

Every rate of identification holds for the gallery that was searched; its size stands with each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.auditing import CROSSED_GALLERIES, FEW_PROBE_SPEAKERS
from parivox.facts import Fact
from parivox.report.audit_queries import point_as_given
from parivox.report.catalogue import fact_text, sentence_text
from parivox.report.error_names import SEARCH_ERRORS
from parivox.report.limitation_sentences import SEARCH_WARNINGS, Caveat, persons_text
from parivox.report.words import capitalised, count_of, count_text, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing import Audit
    from parivox.report.words import Row

_MAX_SHARE_DIFFERENCE = 0.1
"""Difference between the shares of a group among enrolled persons and probes that is told."""
_MAX_SHARE_OF_PERSON = 0.2
"""Share of the false positives that may depend on one enrolled person without a remark."""
_MIN_SPEAKERS = 5
_RECOMMENDED_SPEAKERS = 10
_MAX_HOUSEHOLD = 10
"""Enrolled persons up to whom a gallery may be a household."""


def is_identification(audit: Audit) -> bool:
    """Return whether an audit is of searches in a gallery."""
    return "identification" in audit.record


def conditions(audit: Audit) -> Mapping[str, Any]:
    """Return the conditions under which every rate holds, as the audit records them."""
    recorded: Mapping[str, Any] = audit.record["identification"]
    return recorded


def gallery_text(audit: Audit) -> str:
    """Return how many persons are enrolled: in the only gallery, or in each of several."""
    return persons_text(conditions(audit)["gallery_sizes"])


def search_sizes(audit: Audit) -> Iterator[str]:
    """Yield how many searches, probe speakers and enrolled persons there are, of each system."""
    systems = conditions(audit)["systems"]
    for name, counts in systems.items():
        of_system = f"{name}: " if len(systems) > 1 else ""
        probes = f" of {count_of(counts['speakers'], 'speaker')}"
        if counts["unknown"] == counts["searches"]:
            probes = ", all of unknown speakers,"
        elif counts["unknown"]:
            probes += f" and {_searches_text(counts['unknown'])} of unknown speakers"
        yield (
            f"{of_system}{_searches_text(counts['searches'])} "
            f"({count_text(counts['mated'])} mated, {count_text(counts['nonmated'])} non-mated)"
            f"{probes} against {gallery_text(audit)}"
        )


def _searches_text(n_searches: int) -> str:
    return f"{count_text(n_searches)} {'search' if n_searches == 1 else 'searches'}"


def threshold_text(audit: Audit, points: Sequence[Row]) -> str:
    """Return where the threshold of the first operating point stands, with the rate reached."""
    if not points:
        return "no threshold"
    descriptions = [_point_text(audit, row) for row in points]
    return f"{'; '.join(dict.fromkeys(descriptions))}. {_validity_text(audit)}"


def _validity_text(audit: Audit) -> str:
    n_galleries = len(conditions(audit)["gallery_sizes"])
    return sentence_text(
        "results_hold_for_gallery",
        galleries="this gallery" if n_galleries == 1 else "these galleries",
    )


def _point_text(audit: Audit, row: Row) -> str:
    point = point_as_given(row)
    kind, _, target = point.partition("=")
    if point == "deployed":
        return sentence_text("deployed_decisions")
    words = f"one threshold, {row['threshold']:.4g}, common to all groups"
    if kind not in SEARCH_ERRORS:
        return words
    filters = {"system": row["system"], "list": row["list"], "grouping": "all", "within": ""}
    rates = audit.groups.subset(**filters, metric=kind, operating_point=row["operating_point"])
    (rate,) = [rate_row["value"] for rate_row in rates.rows()]
    event = (
        "of non-mated searches return anyone"
        if kind == "fpir"
        else sentence_text("mated_searches_without_person", rank=rank_text(audit))
    )
    return (
        f"{words}, at which at most {100 * float(target):g} % {event} ({row['operating_point']}: "
        f"{percent(rate)})"
    )


def unit_text(audit: Audit) -> str:
    """Return whom intervals are over, in the plural."""
    is_of_galleries = is_identification(audit) and conditions(audit)["unit"] == "gallery"
    return "galleries" if is_of_galleries else "speakers"


def rank_text(audit: Audit) -> str:
    """Return among how many candidates a person must be, if it is not the first."""
    rank = conditions(audit)["rank"]
    return f" within rank {rank}" if rank > 1 else ""


def error_condition(audit: Audit, metric: str) -> str:
    """Return behind an error type of searches the conditions that it holds under."""
    rank = f"rank {conditions(audit)['rank']}, " if metric == "fnir" else ""
    return f", {rank}against {gallery_text(audit)}"


def rates_only_sentences(audit: Audit) -> list[str]:
    """Return why there are rates only, and what would help; empty where there is more."""
    return [fact_text(reason) for reason in _rates_only_facts(audit)]


def _rates_only_facts(audit: Audit) -> Iterator[Fact]:
    """Yield the same in codes and values."""
    reason = conditions(audit)["rates_only"]
    if reason == CROSSED_GALLERIES:
        yield Fact(reason, {})
    if reason != FEW_PROBE_SPEAKERS:
        return
    if conditions(audit)["unit"] == "gallery":
        yield Fact("few_galleries", {"minimum": _MIN_SPEAKERS})
        return
    speakers: dict[tuple[str, ...], int] = {}  # the larger number of either rate, by group
    for row in audit.groups.subset(within="").rows():
        if row["grouping"] != "all" and row["group"] != "pooled" and row["speakers"] is not None:
            key = tuple(row[name] for name in ("system", "list", "grouping", "group"))
            speakers[key] = max(speakers.get(key, 0), row["speakers"])
    sizes = sorted({*speakers.values()})
    yield Fact(reason, {"sizes": sizes, "minimum": _MIN_SPEAKERS})
    remedy = {"speakers": _RECOMMENDED_SPEAKERS, "is_household": _may_be_household(audit)}
    yield Fact("record_more_speakers", remedy)


def _may_be_household(audit: Audit) -> bool:
    """Return whether few persons and decisions may be of a household, not of a watch list."""
    recorded = conditions(audit)
    forms = {counts["form"] for counts in recorded["systems"].values()}
    return forms == {"decisions"} and recorded["persons"] <= _MAX_HOUSEHOLD


def rate_details(audit: Audit, metric: str, row: Row, error_counts: str) -> str:
    """Return the errors and searches behind a rate, where nothing else is said of it.

    Missed searches that name another person stand apart: only in these does somebody else's account
    or data come into play. At higher ranks, another person first is no miss. `row` names the cell.
    """
    if not conditions(audit)["rates_only"] or not error_counts:
        return ""
    filters = {
        name: row[name] for name in ("system", "list", "grouping", "group", "operating_point")
    }
    if metric == "fnir" and conditions(audit)["rank"] == 1:
        wrong = measure_rows(audit, "wrong_person", **filters)
        if wrong and wrong[0]["errors"] is not None:
            return f"{error_counts}; {count_text(wrong[0]['errors'])} as another person"
    all_unknown = all(
        counts["unknown"] == counts["nonmated"] for counts in conditions(audit)["systems"].values()
    )
    is_of_unknown = metric == "fpir" and row["grouping"] == "all" and all_unknown
    return f"{error_counts}{', all of unknown speakers' if is_of_unknown else ''}"


def measure_rows(audit: Audit, measure: str, **filters: Any) -> list[Row]:
    """Return the rows of one measure of searches."""
    rows: list[Row] = audit.searches.subset(measure=measure, **filters).rows()
    return rows


def limitations(audit: Audit) -> Iterator[Caveat]:
    """Yield what limits the results."""
    sizes = conditions(audit)["gallery_sizes"]
    yield Caveat("rates_of_gallery_only", {"gallery_sizes": sizes})
    if len(sizes) > 1 and max(sizes) > min(sizes):
        yield Caveat("gallery_sizes_differ", {"gallery_sizes": sizes})
    points = (row for row in audit.operating_points if not row["reason"])
    if any(point_as_given(row).partition("=")[0] in SEARCH_ERRORS for row in points):
        yield Caveat("threshold_set_on_audited_searches")
    for code in SEARCH_WARNINGS:
        for row in audit.data.subset(item=code).rows():
            yield Caveat(code, {"count": row["count"], "value": row["value"]})
    yield from _uneven_shares(audit)
    for row in measure_rows(audit, "fpir_without_person"):
        rate = _rate_of_all(audit, row)
        share = (rate["errors"] - row["errors"]) / rate["errors"] if rate else 0
        if share > _MAX_SHARE_OF_PERSON:
            values = {"operating_point": row["operating_point"], "share": share}
            yield Caveat("false_positives_of_one_person", values)


def _uneven_shares(audit: Audit) -> Iterator[Caveat]:
    """Yield groups whose share among enrolled persons differs from that among probes."""
    seen = set()
    for row in measure_rows(audit, "gallery_share"):
        names = {name: row[name] for name in ("system", "list", "grouping", "group")}
        probe_rows = measure_rows(
            audit, "nonmated_share", **names, operating_point=row["operating_point"]
        )
        if row["value"] is None or not probe_rows or probe_rows[0]["value"] is None:
            continue
        probe_share = probe_rows[0]["value"]
        key = (row["grouping"], row["group"])
        if abs(row["value"] - probe_share) > _MAX_SHARE_DIFFERENCE and key not in seen:
            seen.add(key)
            values = {
                "group": row["group"],
                "gallery_share": row["value"],
                "search_share": probe_share,
            }
            yield Caveat("shares_differ_between_list_and_searches", values)


def _rate_of_all(audit: Audit, row: Row) -> Row | None:
    filters = {"system": row["system"], "list": row["list"], "grouping": "all", "within": ""}
    point = row["operating_point"]
    rows = audit.groups.subset(**filters, metric="fpir", operating_point=point).rows()
    return rows[0] if rows else None


def heading(metric: str) -> str:
    """Return an error type of searches as a head: words and abbreviation."""
    return f"{capitalised(SEARCH_ERRORS[metric])} ({metric.upper()})"
