"""What reports say of identification: conditions, searches, who is named, smaller lists.

Every rate of identification holds for the gallery that was searched; its size stands with each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.report.words import capitalised, count_of, count_text, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing import Audit
    from parivox.report.words import Row

SEARCH_ERRORS = {"fnir": "missed identifications", "fpir": "false positive identifications"}
"""Error types of searches, in words."""
_MAX_SHARE_DIFFERENCE = 0.1
"""Difference between the shares of a group among enrolled persons and probes that is told."""
_MAX_SHARE_OF_PERSON = 0.2
"""Share of the false positives that may depend on one enrolled person without a remark."""
_MIN_SPEAKERS = 5
_RECOMMENDED_SPEAKERS = 10
_MAX_HOUSEHOLD = 10
"""Enrolled persons up to whom a gallery may be a household."""
FEW_SPEAKERS, CROSSED_GALLERIES = "few_probe_speakers", "speakers_cross_galleries"
"""Codes of why an audit of searches has rates only."""


def is_identification(audit: Audit) -> bool:
    """Return whether an audit is of searches in a gallery."""
    return "identification" in audit.record


def conditions(audit: Audit) -> Mapping[str, Any]:
    """Return the conditions under which every rate holds, as the audit records them."""
    recorded: Mapping[str, Any] = audit.record["identification"]
    return recorded


def gallery_text(audit: Audit) -> str:
    """Return how many persons are enrolled: in the only gallery, or in each of several."""
    sizes = conditions(audit)["gallery_sizes"]
    if len(sizes) == 1:
        return count_of(sizes[0], "person")
    span = count_text(min(sizes))
    if max(sizes) > min(sizes):
        span += f" to {count_text(max(sizes))}"
    return f"{span} persons in each of {count_text(len(sizes))} galleries"


def search_sizes(audit: Audit) -> Iterator[str]:
    """Yield how many searches, probe speakers and enrolled persons there are, of each system."""
    systems = conditions(audit)["systems"]
    for name, counts in systems.items():
        of_system = f"{name}: " if len(systems) > 1 else ""
        unknown = ""
        if counts["unknown"]:
            unknown = f" and {_searches_text(counts['unknown'])} of unknown speakers"
        yield (
            f"{of_system}{_searches_text(counts['searches'])} "
            f"({count_text(counts['mated'])} mated, {count_text(counts['nonmated'])} non-mated) of "
            f"{count_of(counts['speakers'], 'speaker')}{unknown} against {gallery_text(audit)}"
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
    return f"All results hold for {'this gallery' if n_galleries == 1 else 'these galleries'} only"


def _point_as_given(row: Row) -> str:
    """Return an operating point as the audit was given it, also where a label replaces it."""
    return str(row.get("as_given") or row["operating_point"])


def _point_text(audit: Audit, row: Row) -> str:
    point = _point_as_given(row)
    kind, _, target = point.partition("=")
    if point == "deployed":
        return "decisions as they were made (deployed)"
    words = f"one threshold, {row['threshold']:.4g}, common to all groups"
    if kind not in SEARCH_ERRORS:
        return words
    filters = {"system": row["system"], "list": row["list"], "grouping": "all", "within": ""}
    rates = audit.groups.subset(**filters, metric=kind, operating_point=row["operating_point"])
    (rate,) = [rate_row["value"] for rate_row in rates.rows()]
    event = (
        "of non-mated searches return anyone"
        if kind == "fpir"
        else f"of mated searches do not return their person{rank_text(audit)}"
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
    reason = conditions(audit)["rates_only"]
    if reason == CROSSED_GALLERIES:
        reason = "some speakers are searched in several galleries"
        return [f"Rates only: {reason}, for which intervals are not available"]
    if reason != FEW_SPEAKERS:
        return []
    speakers: dict[tuple[str, ...], int] = {}  # the larger number of either rate, by group
    for row in audit.groups.subset(within="").rows():
        if row["grouping"] != "all" and row["group"] != "pooled" and row["speakers"] is not None:
            key = tuple(row[name] for name in ("system", "list", "grouping", "group"))
            speakers[key] = max(speakers.get(key, 0), row["speakers"])
    sizes = {*speakers.values()}
    if conditions(audit)["unit"] == "gallery":
        needed = f"at least {_MIN_SPEAKERS} galleries in each of two groups"
        return [f"Rates only: {needed} are needed for any comparison"]
    most = count_of(max(sizes, default=0), "speaker")
    each = f"each group has {most}" if len(sizes) == 1 else f"no group has more than {most}"
    if sizes and max(sizes) >= _MIN_SPEAKERS:
        each = "fewer than two groups have enough speakers"
    remedy = f"To compare groups, record at least {_RECOMMENDED_SPEAKERS} speakers in each group"
    if _may_be_household(audit):
        remedy += (
            ", from several households: with a column gallery, the household is the sampling unit"
        )
    needed = f"at least {_MIN_SPEAKERS} in each are needed for any comparison"
    return [f"Rates only: {each}, and {needed}", remedy]


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


_DATA_LIMITATIONS = {
    "searches_without_candidates": (
        "{searches} without candidates",
        (
            "{searches} returned no list. Such a search counts as a miss if it is mated, and not "
            "as a false positive if it is non-mated, so failures lower the FPIR"
        ),
    ),
    "searches_of_unknown_speakers": (
        "{searches} of unknown speakers",
        (
            "{searches} {are} of speakers without an id. Such searches count in the rates of all "
            "searches, in no group, and give no interval"
        ),
    ),
    "searches_of_unlisted_speakers": (
        "{searches} of speakers outside the speaker table",
        ("{searches} {are} of speakers who are not in the speaker table, and so {are} in no group"),
    ),
    "mates_in_ties": (
        "{ties} at the rank of the person sought",
        (
            "In {mated} another person has the same score as the one sought. The other person is "
            "ranked first"
        ),
    ),
    "few_false_positives_expected": (
        "few false positives expected at the operating point",
        (
            "With {nonmated}, the operating point leads to {expected:.3g} false positive "
            "identifications at most. With fewer than 30, threshold and FPIR are uncertain"
        ),
    ),
}
"""What was noticed in the searches: in a few words, and in a sentence."""


def _noticed_words(row: Row) -> dict[str, Any]:
    """Return what stands in the sentences on what was noticed, in the singular or plural."""
    n_searches = row["count"]
    noun = "search" if n_searches == 1 else "searches"
    return {
        "searches": f"{count_text(n_searches)} {noun}",
        "mated": f"{count_text(n_searches)} mated {noun}",
        "nonmated": f"{count_text(n_searches)} non-mated {noun}",
        "ties": count_of(n_searches, "tie"),
        "are": "is" if n_searches == 1 else "are",
        "expected": row["value"],
    }


def limitations(audit: Audit) -> Iterator[tuple[str, str, str]]:
    """Yield what limits the results: in a few words, in a sentence, and the section."""
    sizes, persons = conditions(audit)["gallery_sizes"], gallery_text(audit)
    sentence = (
        "False positive identifications grow with the number of enrolled persons. These rates "
        f"are for {persons}, and do not hold for a longer list or for other persons"
    )
    yield f"rates hold for {persons} only", sentence, "gallery"
    if len(sizes) > 1 and max(sizes) > min(sizes):
        words = f"gallery sizes differ ({min(sizes)} to {max(sizes)})"
        sentence = (
            f"{capitalised(words)}, so a difference in false positive identifications may be due "
            "to gallery size"
        )
        yield words, sentence, "gallery"
    points = (row for row in audit.operating_points if not row["reason"])
    if any(_point_as_given(row).partition("=")[0] in SEARCH_ERRORS for row in points):
        sentence = (
            "The threshold was set on the audited searches. On other searches, this threshold "
            "may give other error rates"
        )
        yield "threshold set on the audited searches", sentence, "gallery"
    for item, (short, sentence) in _DATA_LIMITATIONS.items():
        for row in audit.data.subset(item=item).rows():
            values = _noticed_words(row)
            yield short.format_map(values), sentence.format_map(values), "gallery"
    yield from _uneven_shares(audit)
    for row in measure_rows(audit, "fpir_without_person"):
        rate = _rate_of_all(audit, row)
        if rate and (rate["errors"] - row["errors"]) / rate["errors"] > _MAX_SHARE_OF_PERSON:
            share = percent((rate["errors"] - row["errors"]) / rate["errors"])
            sentence = (
                f"At {row['operating_point']}, {share} of the false positive identifications "
                "return only this one person. Some voices resemble many others; the result says "
                "nothing else about the person"
            )
            yield "false positives depend on one enrolled person", sentence, "named"


def _uneven_shares(audit: Audit) -> Iterator[tuple[str, str, str]]:
    """Yield groups whose share among enrolled persons differs from that among probes."""
    seen = set()
    for row in measure_rows(audit, "gallery_share"):
        names = {name: row[name] for name in ("system", "list", "grouping", "group")}
        others = measure_rows(
            audit, "nonmated_share", **names, operating_point=row["operating_point"]
        )
        if row["value"] is None or not others or others[0]["value"] is None:
            continue
        probe_share = others[0]["value"]
        key = (row["grouping"], row["group"])
        if abs(row["value"] - probe_share) > _MAX_SHARE_DIFFERENCE and key not in seen:
            seen.add(key)
            group, share = row["group"], percent(row["value"])
            sentence = (
                f"{share} of the enrolled persons and {percent(probe_share)} of the non-mated "
                f"searches are of {group}. Persons of one group resemble each other more, so that "
                "the FPIR of a group grows with its share of the list"
            )
            yield f"share of {group} differs between list and searches", sentence, "named"


def _rate_of_all(audit: Audit, row: Row) -> Row | None:
    filters = {"system": row["system"], "list": row["list"], "grouping": "all", "within": ""}
    point = row["operating_point"]
    rows = audit.groups.subset(**filters, metric="fpir", operating_point=point).rows()
    return rows[0] if rows else None


def heading(metric: str) -> str:
    """Return an error type of searches as a head: words and abbreviation."""
    return f"{capitalised(SEARCH_ERRORS[metric])} ({metric.upper()})"
