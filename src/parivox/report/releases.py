"""Releases compared, in the terminal: which is better, for whom; trends over several releases."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rich.console import group

from parivox.core.measures import RATES
from parivox.decide.releases import GONE, NEW, PAIRED, UNPAIRED
from parivox.report.audit_queries import (
    ERROR_TYPES,
    POOLED,
    VERDICTS,
    error_types_of,
    system_label,
)
from parivox.report.catalogue import full_sentence, reason_text, sentence_text
from parivox.report.sheets.sheet import Cell, Sheet, terminal_table
from parivox.report.words import (
    capitalised,
    count_of,
    interval_text,
    p_value,
    p_value_cell,
    percent,
    print_text,
    short_number,
    shortened_names,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from parivox.decide.releases import Comparison

    Row = dict[str, Any]

_MAX_ROWS, _MAX_NAMED_GROUPS = 20, 6
_PAIRING_TEXTS = {
    PAIRED: sentence_text("trials_compared_paired"),
    UNPAIRED: sentence_text("trials_compared_unpaired"),
}


def print_comparison(comparison: Comparison) -> None:
    """Print the comparison: with colours in a terminal, plain lines elsewhere."""
    print_text(comparison_summary(comparison))


@group()
def comparison_summary(comparison: Comparison) -> Iterator[RenderableType]:
    """Yield, of each pair of releases, which is better and which groups changed; then trends."""
    families: dict[tuple[str, ...], list[Row]] = {}
    for row in comparison.changes.rows():
        key = tuple(row[name] for name in ("before", "release", "system", "list"))
        families.setdefault(key, []).append(row)
    has_several_systems = len({key[2:] for key in families}) > 1
    for i, ((before, release, system, list_), rows) in enumerate(families.items()):
        system_text = f", {system_label(system, list_)}" if has_several_systems else ""
        yield from _release_pair_blocks(
            (f"{release} compared with {before}{system_text}"), rows, apart=i > 0
        )
    for pair in comparison.record["unchanged"]:
        system_text = ""
        if has_several_systems:
            system_text = f" for {system_label(pair['system'], pair['list'])}"
        words = full_sentence(
            "releases_with_same_scores",
            release=pair["release"],
            before=pair["before"],
            of_system=system_text,
        )
        yield text(words, apart=True)
    for metric in comparison.record.get("not_compared", ()):
        words = sentence_text(
            "error_types_not_compared",
            error_types=capitalised(ERROR_TYPES[metric]),
            metric=metric.upper(),
        )
        yield text(full_sentence("only_some_audits_have_them", error_types=words), apart=True)
    if attacks := comparison.record.get("attacks"):
        yield text(differing_attacks_text(attacks), apart=True)
    for sentence in changed_group_sentences(comparison.record["changed_groups"]):
        yield text(sentence, apart=True)
    if len(comparison.trends):
        yield from _trend_blocks(comparison.trends.rows())


def differing_attacks_text(attacks_of_releases: Mapping[str, Sequence[str]]) -> str:
    """Return what spoof accepts show of releases that were tested with other attacks."""
    names = (
        f"{name}: {', '.join(attacks) or 'none known'}"
        for name, attacks in attacks_of_releases.items()
    )
    words = sentence_text("attacks_differ")
    return f"{words} ({'; '.join(names)})."


def changed_group_sentences(changes: Sequence[Row]) -> Iterator[str]:
    """Yield, for each grouping, how many speakers changed group between two audits."""
    for change in changes:
        groups = ", ".join(shortened_names(change["groups"], most=_MAX_NAMED_GROUPS))
        n_speakers = count_of(change["at_least"], "speaker")
        yield full_sentence(
            "speakers_changed_group",
            before=change["before"],
            release=change["release"],
            speakers=n_speakers,
            grouping=change["grouping"],
            groups=groups,
        )


def _release_pair_blocks(
    title: str, rows: Sequence[Row], *, apart: bool
) -> Iterator[RenderableType]:
    """Yield how one release compares with another, at the first operating point."""
    point = rows[0]["operating_point"]
    point_rows = [row for row in rows if row["operating_point"] == point]
    pooled_rows = [row for row in point_rows if row["grouping"] == "all"]
    groups = [row for row in point_rows if row["grouping"] != "all" and row["group"] != POOLED]
    for metric, error_type in error_types_of(row["metric"] for row in rows).items():
        n_of_verdict = Counter(row["verdict"] for row in groups if row["metric"] == metric)
        counts = ", ".join(
            f"{n_of_verdict[code]} {words}"
            for code, words in VERDICTS.items()
            if n_of_verdict[code]
        )
        # an operating point such as fpr=0.01 gives both releases the same pooled rate
        if point.startswith(f"{metric}="):
            words = sentence_text(
                "rate_fixed_by_point", error_type=capitalised(error_type), point=point
            )
            yield text(f"{words}. Groups: {counts}.")
        else:
            changes = ", ".join(
                _pooled_change_text(row) for row in pooled_rows if row["metric"] == metric
            )
            words = f"{title}: {error_type} over all trials from {changes}"
            yield text(f"{words}. Groups: {counts}.", style="bold", apart=apart)
    yield text(f"Compared at {point}; {_pairing_text(point_rows)}.")
    sheet = _changed_groups_sheet(groups)
    if sheet.rows:
        yield text("")
        yield from terminal_table(sheet, lines_above=1)
    for code, words in ((NEW, "New groups"), (GONE, "Groups no longer present")):
        names = list(dict.fromkeys(row["group"] for row in point_rows if row["pairing"] == code))
        if names:
            named = ", ".join(shortened_names(names, most=_MAX_NAMED_GROUPS))
            yield text(f"{words}: {named}.", apart=True)
    other_points = list(dict.fromkeys(row["operating_point"] for row in rows))[1:]
    if other_points:
        yield text(
            full_sentence("use_json_for_other_points", points=", ".join(other_points)), apart=True
        )


def _pairing_text(rows: Sequence[Row]) -> str:
    """Return whether rates are paired; where only some groups are, which are not."""
    pairings = {row["pairing"] for row in rows} & {*_PAIRING_TEXTS}
    if len(pairings) < 2:
        return "; ".join(_PAIRING_TEXTS[pairing] for pairing in pairings)
    unpaired = dict.fromkeys(row["group"] for row in rows if row["pairing"] == UNPAIRED)
    names = ", ".join(shortened_names(list(unpaired), most=_MAX_NAMED_GROUPS))
    return f"{_PAIRING_TEXTS[PAIRED]}; {names}: unpaired, with wider intervals"


def _pooled_change_text(row: Row) -> str:
    """Return a pooled rate before and now, with the interval of the difference."""
    if row["log_low"] is None:
        return f"{percent(row['other'])} to {percent(row['value'])} ({reason_text(row)})"
    return (
        f"{percent(row['other'])} to {percent(row['value'])}, difference "
        f"{100 * row['difference']:+.2f} percentage points [{100 * row['low']:.2f}, "
        f"{100 * row['high']:.2f}]"
    )


def _changed_groups_sheet(groups: Sequence[Row]) -> Sheet:
    """Return the groups that got worse, then those that got better, the most changed first."""
    from math import exp  # noqa: PLC0415

    n_error_types = len(error_types_of(row["metric"] for row in groups))
    types = "both error types" if n_error_types == len(RATES) else "all three error types"
    sheet = Sheet.with_heads(
        f"Groups that changed (Holm over groups and {types} of a grouping):",
        ("group", "error", "before", "now", "times", "p"),
        words=(1, 2),
    )
    rank = {"worse": 0, "better": 1}
    changed_rows = [row for row in groups if row["verdict"] in rank and row["log_low"] is not None]
    changed_rows.sort(key=lambda row: (rank[row["verdict"]], -abs(row["log_ratio"])))
    for row in changed_rows[:_MAX_ROWS]:
        interval = interval_text(exp(row["log_low"]), exp(row["log_high"]))
        sheet.add(
            row["group"],
            ERROR_TYPES[row["metric"]],
            percent(row["other"]),
            percent(row["value"]),
            Cell(f"{short_number(exp(row['log_ratio']))} {interval}", verdict=row["verdict"]),
            p_value_cell(row["p_holm"]),
        )
    return sheet


def _trend_blocks(rows: Sequence[Row]) -> Iterator[RenderableType]:
    """Yield the groups whose rates rise or fall with each release, the fastest rise first."""
    point = rows[0]["operating_point"]
    trend_rows = [
        row
        for row in rows
        if row["operating_point"] == point
        and row["verdict"] in {"worse", "better"}
        and row["group"] != POOLED
    ]
    n_releases = rows[0]["releases"]
    heading = f"Trends over {n_releases} releases at {point}, as ratio per release:"
    yield text(heading, style="bold", apart=True)
    trend_rows.sort(key=lambda row: -row["per_release"])
    for row in trend_rows[:_MAX_ROWS]:
        ratio = f"{short_number(row['per_release'])} {interval_text(row['low'], row['high'])}"
        words = f"{row['group']}, {ERROR_TYPES[row['metric']]}: {VERDICTS[row['verdict']]}, {ratio}"
        yield text(f"{words}, {p_value(row['p_holm'])}")
    if not trend_rows:
        yield text(full_sentence("no_trend_shown"))
