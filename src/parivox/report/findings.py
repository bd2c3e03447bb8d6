"""What is said of an audit, in words that terminal, page and papers share, and in which order."""

from __future__ import annotations

import math
import re
from itertools import groupby
from typing import TYPE_CHECKING

from parivox.auditing import (
    LIMITS,
    POINT_WARNINGS,
    SAME_TRIALS,
    UNKNOWN_GROUP,
    WITHOUT_TRIALS,
    parse_minimums,
)
from parivox.core.measures import BOTH
from parivox.core.shrinkage import LOW_POWER
from parivox.core.verdict import holm
from parivox.data.trial_checks import FAILED, OF_NOBODY, UNSCORED, WITHOUT_TEST_SPEAKER
from parivox.data.value_warnings import ODDITIES, RANGE_OF_NUMBERS
from parivox.report.audit_queries import (
    ERROR_TYPES,
    VERDICTS,
    first_point_name,
    located_points,
    system_label,
    systems,
)
from parivox.report.words import (
    count_of,
    count_text,
    counted_item,
    interval_text,
    p_value,
    percent,
    share_of_speakers,
    short_number,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from parivox.auditing import Audit
    from parivox.report.audit_queries import Rates, Verdicts
    from parivox.report.words import Row

CHECKS_BETWEEN_GROUPS = {"G8": "false accepts", "G9": "false rejects"}
"""Checks of a list without which a difference between groups may be one between their trials."""
_COUNTED_AT = "counted at thresholds "
_FEW_THRESHOLDS = 5
_MOST_UNKNOWN = 0.05  # of all trials, which may be in no group without a word
ALLOCATIONS = {
    "both": "nontarget trials with both speakers in the group",
    "enrol": "nontarget trials with the enrolment speaker in the group",
    "test": "nontarget trials with the test speaker in the group",
    "either": "nontarget trials with either speaker in the group",
}
"""Which nontarget trials are a group's, under each allocation."""
EXPLORATORY_SENTENCE = (
    "in simulations with equal error rates (three groupings, two thresholds), about 20 in 100 "
    "audits of one system reported at least one difference"
)
"""What comes of all that is explored: docs/coverage.md#the-answer-and-all-that-is-looked-at."""
_MOST_DIFFERING = 6
"""Groups that differ whose figures are told."""
_NO_INTERVAL = "no interval: "
_OF_ONE_KIND = {"tells", "told", "alike"}
_READ = {
    *("rows", "trials", "target trials", "nontarget trials", "files of counts"),
    *("models", "recordings"),
}
_REFERENCES = {
    "macro": "the mean of the groups",
    "geomean": "the geometric mean of the groups",
    "pooled": "all groups pooled",
}
_MET = {"met": "met", "not_met": "not met", "cannot_tell": VERDICTS["cannot_tell"]}


# ---- the answer


def data_summary(audit: Audit, name: Row) -> str:
    """How many trials of how many speakers, and what all of them together come to."""
    whole = audit.groups.where(**name, grouping="all", within="").rows()
    first = whole[0]
    of_whom = "" if first["speakers"] is None else f" of {count_of(first['speakers'], 'speaker')}"
    return (
        f"{first['target_trials']:,} target and {first['nontarget_trials']:,} nontarget trials"
        f"{of_whom}. {pooled_metrics_text(whole)}"
    )


def primary_question_text(audit: Audit) -> str:
    """Where verdicts are confirmatory; empty if they are nowhere."""
    at: dict[str, list[str]] = {}
    for system, question in audit.record.get("primary", {}).items():
        at.setdefault(" at ".join(question.rpartition("@")[::2]), []).append(system)
    if len(at) == 1:
        return next(iter(at))
    return ", ".join(f"{question} ({', '.join(names)})" for question, names in at.items())


def confidence_statement(audit: Audit) -> str:
    """What is confirmatory, at which level, and what comes of all the rest in fair systems.

    What comes of the rest is known of three groupings, and so told where there is more than one.
    Empty where there are no verdicts, and of audits that do not tell.
    """
    if {row["confirmatory"] for row in audit.verdicts.rows()} <= {None}:
        return ""
    primary, level = primary_question_text(audit), 1 - audit.record["options"]["confidence"]
    if not primary:
        return (
            "all findings about groups are exploratory, as the primary operating point has no "
            "threshold: confirm them on new speakers."
        )
    words = (
        f"the verdicts by {primary} are confirmatory only if variation between speakers is similar "
        "in all groups and this analysis was chosen before looking at the data (Parivox cannot "
        "check this). If, under these conditions, error rates were equal in all groups, "
        f"about {100 * level:.3g} in 100 such audits of a system would still call one of these "
        "groups worse or better. All other findings about groups are exploratory: confirm them on "
        "new speakers."
    )
    if len(audit.record["groupings"]) > 1:
        words += f" {EXPLORATORY_SENTENCE[0].upper()}{EXPLORATORY_SENTENCE[1:]}."
    if len(audit.comparison):
        words += " System comparisons are also exploratory and have their own p-values."
    return words


def differing_groups_text(of: Mapping[str, Row]) -> str:
    """Which groups differ, and of how many it can't be told."""
    if not of:
        return "–"
    words = [
        f"{group} {verdict_text(row)} ({short_number(row['ratio'])})"
        for group, row in of.items()
        if row["verdict"] in {"worse", "better"}
    ]
    unknown = sum(row["verdict"] == "cannot_tell" for row in of.values())
    words += [f"{unknown} inconclusive"] if unknown else []
    return "; ".join(words) or f"none by more than {next(iter(of.values()))['margin']:g} times"


def verdict_text(row: Row) -> str:
    """The verdict on a group; audits of before do not say without whom it is not shown."""
    worst = row.get("because_of")
    return VERDICTS[row["verdict"]] + (f", not without {worst}" if worst else "")


def group_figures_text(of: Verdicts, group: str, rates: Rates, at: str) -> str:
    """A group's joint sentence with the figures of what differs."""
    rates_that_differ = [
        f"{metric.upper()} {percent(rates[group][metric, at]['value'])}, "
        f"{short_number(row['ratio'])} "
        f"times {interval_text(row['low'], row['high'])}, "
        f"{p_value(row['p_holm'])}{_with_best_guess(row)}"
        for metric in ERROR_TYPES
        if (row := of[metric][group])["verdict"] in {"worse", "better"}
    ]
    return f"{of[BOTH][group]['sentence']}: {'; '.join(rates_that_differ)}"


def shrinkage_estimate_text(row: Row) -> str:
    """The likely ratio of a group that is called worse or better; empty where power is not low."""
    guess, power = row.get("best_guess"), row.get("power")
    if row["verdict"] not in {"worse", "better"} or guess is None:
        return ""
    if power is not None and power >= LOW_POWER:
        return ""
    return f"{short_number(guess)} {interval_text(row['best_guess_low'], row['best_guess_high'])}"


def _with_best_guess(row: Row) -> str:
    guess, is_worse = shrinkage_estimate_text(row), row["verdict"] == "worse"
    bias = "overestimated" if is_worse else "underestimated"
    return guess and f"; shrinkage estimate {guess}; ratios of small samples tend to be {bias}"


def interaction_sentences(audit: Audit, where: Row) -> Iterator[str]:
    """Which rates are not what the attributes that groups are made of add up to, at which point."""
    asked = {**where, "within": "", "measure": "interaction"}
    rows = [row for row in audit.meta.where(**asked).rows() if row["p"] is not None]
    level = 1 - audit.record["options"]["confidence"]
    for row, p in zip(rows, holm([row["p"] for row in rows]).tolist(), strict=True):
        if p < level:
            yield (
                f"{row['metric'].upper()} at {row['operating_point']} is not what the attributes "
                f"of {row['grouping']} add up to ({p_value(p)}): above it most of all is "
                f"{row['high_group']}, below it {row['low_group']}."
            )


def groups_by_shortfall_text(lacking: Mapping[str, str]) -> str:
    """Groups by what they lack, those of few speakers first."""

    def order(words: str) -> tuple[bool, float, str]:
        count, _, rest = words.partition(" ")
        return not rest.startswith("speakers"), float(count), words

    lacks = sorted(lacking.items(), key=lambda one: (*order(one[1]), one[0]))
    return "; ".join(
        f"{', '.join(group for group, _ in same)} ({words})"
        for words, same in groupby(lacks, key=lambda one: one[1])
    )


def reference_text(audit: Audit) -> str:
    """Whom groups are compared with."""
    reference = str(audit.record["options"]["reference"][0])
    words = {"others": "all other groups combined", "pooled": "all groups pooled"}
    return words.get(reference, reference)


def minimums_text(audit: Audit) -> str:
    """What a group must have to count."""
    gates = parse_minimums(audit.record["options"]["gate"])
    return (
        f"fewer than {gates.speakers} speakers, {gates.errors} effective errors or {gates.pairs} "
        "pairs of speakers"
    )


# ---- the data


def counts_file_sentences(audit: Audit, name: Row) -> Iterator[str]:
    """What a system's files of counts cannot tell, and how much they withhold; if it has any."""
    counted = audit.data.where(**name, source="counts").rows()
    if not counted:
        return
    files = next(row["count"] for row in counted if row["item"] == "files of counts")
    items = [row["item"] for row in counted]
    unknown = [item.partition(": ")[2] for item in items if item.startswith("not ")]
    n_withheld = sum("withheld" in item for item in items)
    withheld = f" {n_withheld} groups or levels are withheld." if n_withheld else ""
    yield (
        f"From {files} file{'s' * (files > 1)} of counts, which cannot tell: "
        f"{'; '.join(unknown)}.{withheld}"
    )


def no_threshold_sentence(audit: Audit, name: Row) -> str:
    """Why a system has no rates, and the mend."""
    whole = audit.groups.where(**name, grouping="all", within="").rows()[0]
    rows = audit.operating_points.where(**name, within="").rows()
    reasons = dict.fromkeys(row["reason"] for row in rows)
    items = [row["item"] for row in audit.data.where(**name, source="counts").rows()]
    at = [item.removeprefix(_COUNTED_AT) for item in items if item.startswith(_COUNTED_AT)]
    has_both = whole["target_trials"] and whole["nontarget_trials"]
    mend = f", where X is one of {at[0]}" if at else ", or use eer" if has_both else ""
    return (
        f"No error rates: no operating point has a threshold ({'; '.join(reasons)}). "
        f"Set a threshold with --operating-point threshold=X{mend}."
    )


def default_choices(audit: Audit) -> Iterator[str]:
    """What was chosen for the user: the column of speakers' ids, groups if none were asked for."""
    for entry in audit.provenance:
        if entry.get("role") == "speakers":
            column = entry["columns"]["id"]
            words = f"column {column!r}" if column else "a column without a name"
            yield f"Speaker ids: {words}"
    if audit.record["groupings_chosen_by"] != "user":
        names = ", ".join(audit.record["groupings"])
        yield f"No --by given: grouped by {names} ({audit.record['groupings_chosen_by']})"


def pooled_metrics_text(whole: list[Row]) -> str:
    """The EER and the minimum costs of all trials."""
    values = []
    for row in whole:
        if row["metric"] == "eer" and row["value"] is not None:
            values.append(f"EER {percent(row['value'])} ({row['definition']})")
        if row["metric"] == "min_cdet_norm" and row["value"] is not None:
            values.append(f"min cost {row['value']:.4f} ({row['definition']})")
    reasons = {row["reason"] for row in whole if row["metric"] == "eer"}
    return ", ".join(values) + "." if values else f"No EER: {', '.join(sorted(reasons))}."


def missing_interval_reason(audit: Audit, name: Row) -> str:
    """Why there are no intervals; empty where there are."""
    if not audit.record["options"]["intervals"]:
        return "--no-intervals was given"
    whole = audit.groups.where(**name, grouping="all", within="").rows()
    notes = [row["note"] for row in whole if row["value"] is not None]
    has_any = any(row["interval"] for row in whole)
    return "" if has_any or not notes else notes[0].removeprefix(_NO_INTERVAL)


def ratio_legend(audit: Audit) -> str:
    """Tell what the numbers next to a rate are."""
    options = audit.record["options"]
    interval = f" [{100 * options['confidence']:g} % CI over speakers]"
    return f"ratio to {reference_text(audit)}{interval if options['intervals'] else ''}"


def data_notes(audit: Audit, name: Row) -> list[str]:
    """What was left out, kept or counted once, but not how much was read."""
    return [
        _aside(row)
        for row in audit.data.where(**name).rows()
        if row["count"]
        and not row["group"]
        and row["source"] != "conflicts"
        and row["item"] not in _READ
    ]


def _aside(row: Row) -> str:
    if row["item"] == WITHOUT_TRIALS:
        return _of_unused_groups(row)
    if row["source"] == POINT_WARNINGS:
        return f"{row['item']}: {row['note']}"
    where = f" [{row['grouping']}]" if row["grouping"] else ""
    note = f" ({row['note']})" if row["note"] else ""
    return f"{counted_item(row['count'], row['item'])}{where}{note}"


def n_trials_without_score(audit: Audit, name: Row) -> int:
    """How many trials of a system's list have no score, and so no part in what is said of it."""
    items = {UNSCORED, FAILED}
    return sum(
        row["count"]
        for row in audit.data.where(**name).rows()
        if row["item"] in items and not row["grouping"]
    )


def groups_without_trials(audit: Audit) -> dict[str, str]:
    """Return which groups of each grouping have no trials, in a few words by the sentence."""
    rows = audit.data.where(item=WITHOUT_TRIALS).rows()
    return {_of_unused_groups(row): _unused_groups(row) for row in rows}


def _unused_groups(row: Row) -> str:
    """Return how many groups of a grouping have no trials, and how many speakers they have."""
    groups = "groups" if row["value"] is None else count_of(int(row["value"]), "group")
    return f"{groups} without trials ({count_of(row['count'], 'speaker')})"


def _of_unused_groups(row: Row) -> str:
    """Return the same in a sentence, which names them."""
    groups = "groups" if row["value"] is None else count_of(int(row["value"]), "group")
    have = "has" if row["value"] == 1 else "have"
    speakers = count_of(row["count"], "speaker")
    return (
        f"{groups} by {row['grouping']} {have} no trials ({speakers} in the speaker table), so "
        f"nothing can be said about {row['note']}"
    )


def unusual_points(audit: Audit) -> list[str]:
    """Operating points that miss their rate or have an infinite threshold, for each system."""
    return list(_of_systems(audit, POINT_WARNINGS))


def threshold_sources(audit: Audit) -> set[str]:
    """Where the thresholds come from at which everything is told."""
    return {rows[0]["source"] for one in systems(audit) if (rows := located_points(audit, one))}


def thresholds_set_here_text(audit: Audit) -> str:
    """Which thresholds were found on the audited trials, as a sentence begins; empty if none."""
    rows = audit.operating_points.where(within="").rows()
    found = [row["operating_point"] for row in rows if row["source"] == SAME_TRIALS]
    if len(found) in {0, len(rows)}:
        return "Thresholds were" if found else ""
    return f"Thresholds of {', '.join(dict.fromkeys(found))} were"


def data_warnings(audit: Audit) -> list[str]:
    """What is odd about values, ids and scores, for each system; ranges of numbers are not."""
    return [one for one in _of_systems(audit, ODDITIES) if RANGE_OF_NUMBERS not in one]


def _of_systems(audit: Audit, source: str) -> Iterator[str]:
    names_of_words: dict[str, list[str]] = {}
    for row in audit.data.where(source=source).rows():
        name = system_label(row["system"], row["list"])
        names_of_words.setdefault(_aside(row), []).append(name)
    for words, names in names_of_words.items():
        yield f"{', '.join(dict.fromkeys(names))}: {words}"


def recordings_text(audit: Audit, name: Row) -> str:
    """How many recordings, and models, the trials are of; empty where that is not known."""
    counts = {row["item"]: row["count"] for row in audit.data.where(**name, source="scores").rows()}
    recordings, models = counts.get("recordings"), counts.get("models")
    if recordings is None:
        return ""
    if models is None:
        return f"{count_text(recordings)} recordings"
    return f"{count_text(models)} models and {count_text(recordings)} test recordings"


def deployed_thresholds_text(audit: Audit, name: Row) -> str:
    """The thresholds that trials were decided at."""
    rows = audit.data.where(**name, grouping="all", group="all", within="").rows()
    levels = [row["value"] for row in rows if row["item"].startswith("trials at the deployed")]
    if not levels:
        return "decisions"
    words = [f"{level:.6g}" for level in sorted(levels)]
    return ", ".join(words) if len(words) <= _FEW_THRESHOLDS else f"{words[0]} to {words[-1]}"


def contradictory_rows_text(audit: Audit, name: Row) -> str:
    """What the rows that were set aside would have changed, of all trials."""
    rows = audit.data.where(**name, source="conflicts", grouping="all").rows()
    count = sum(row["count"] for row in rows if row["count"] is not None)
    if not count:
        return "No rows contradict each other: none were set aside."
    values = {row["item"]: row["value"] for row in rows if row["count"] is None}
    changes = []
    for item, value in values.items():
        found = re.fullmatch("(.*) without contradicting rows", item)
        if found:
            metric = found[1]
            is_rate = metric.split()[0] in {"fpr", "fnr", "eer"}
            without, with_ = (
                percent(one) if is_rate or one is None else f"{one:.4f}"
                for one in (value, values.get(f"{metric} with contradicting rows"))
            )
            changes.append(f"{metric} {without} / {with_}")
    effect = f"; without / with them: {', '.join(changes)}" if changes else ""
    return f"{count:,} contradicting rows set aside{effect}."


def unknown_test_speakers_text(audit: Audit, name: Row) -> tuple[str, str]:
    """What it means that nontarget trials have no test speaker: in a few words, in sentences.

    Both are empty where all have one.
    """
    rows = audit.data.where(**name, source="scores", item=WITHOUT_TEST_SPEAKER).rows()
    if not rows:
        return "", ""
    whole = audit.groups.where(**name, grouping="all", within="").rows()[0]
    trials = (
        f"{count_text(rows[0]['count'])} of {count_text(whole['nontarget_trials'])} nontarget "
        "trials"
    )
    how_many = f"{trials} have no test speaker"
    lacks = "where they count, FPR has no confidence interval, verdict or noise floor"
    sentences = [f"{how_many}, so nobody knows how many people made them: {lacks}"]
    if SAME_TRIALS in threshold_sources(audit):
        sentences.append("Intervals of FNR take the threshold as it is")
    placed = {
        "enrol": "They count for the group of the enrolled speaker (allocation enrol)",
        "either": "Under allocation either they count for the group of the enrolled speaker alone",
    }
    for rule in audit.record["options"]["allocate"]:
        nowhere = (
            f"Under allocation {rule} they count in no group of speakers; --allocate enrol counts "
            "them for the enrolled speaker"
        )
        sentences.append(placed.get(rule, nowhere))
    sentences.append(
        "With the caller of each attempt in a column test_speaker, FPR would have an interval and "
        "a verdict"
    )
    return f"{how_many}: no interval of their FPR", ". ".join(sentences)


def excluded_trials_text(audit: Audit, name: Row, metric: str) -> str:
    """Which trials were excluded whose absence changes a rate of all; empty for none."""
    rows = audit.data.where(**name, grouping="all", source="conflicts").rows()
    values = {row["item"]: row["value"] for row in rows if row["count"] is None}
    count = sum(row["count"] for row in rows if row["count"] is not None)
    rates = f"{metric} at {first_point_name(audit, name)} {{}} contradicting rows"
    without, with_ = (values.get(rates.format(word)) for word in ("without", "with"))
    if not count:
        return ""
    rows_excluded = f"{count_of(count, 'contradictory row')} excluded"
    kind = "target" if metric == "fnr" else "nontarget"
    whole = audit.groups.where(**name, grouping="all", within="").rows()
    if with_ is None and whole and not whole[0][f"{kind}_trials"]:
        return f"{rows_excluded}: no {kind} trials are left"
    if with_ is None or percent(without) == percent(with_):
        return ""
    found = f"{metric.upper()} is {percent(with_)} with them"
    than = "" if without is None else f", {percent(without)} without"
    return f"{rows_excluded}: {found}{than}"


def unknown_group_sentences(audit: Audit, name: Row) -> Iterator[str]:
    """Yield how many trials are in no group of a grouping, where they are more than a few."""
    whole = audit.groups.where(**name, grouping="all", within="").rows()[0]
    n_trials = whole["target_trials"] + whole["nontarget_trials"]
    count_of_grouping: dict[str, int] = {}
    for row in audit.data.where(**name, source="scores").rows():
        if UNKNOWN_GROUP in row["item"] and row["grouping"]:
            count_of_grouping.setdefault(row["grouping"], row["count"])
    groupings_of_count: dict[int, list[str]] = {}
    for grouping, count in count_of_grouping.items():
        groupings_of_count.setdefault(count, []).append(grouping)
    for count, groupings in groupings_of_count.items():
        if count > _MOST_UNKNOWN * n_trials:
            yield (
                f"{count_text(count)} of {count_of(n_trials, 'trial')} in no group by "
                f"{' or '.join(groupings)}, as the group of a speaker is unknown"
            )


def unscored_trials_text(audit: Audit, name: Row) -> str:
    """How many trials have no score or decision; empty for none."""
    asked = (UNSCORED, "trials without decision")
    rows = audit.data.where(**name, grouping="", source="scores").rows()
    return ", ".join(f"{count_text(r['count'])} {r['item']}" for r in rows if r["item"] in asked)


def placeholder_speakers_text(audit: Audit, name: Row) -> str:
    """Return how many trials name a placeholder for a speaker; empty for none."""
    rows = audit.data.where(**name, grouping="", item=OF_NOBODY).rows()
    count = sum(row["count"] for row in rows)
    return f"{count_of(count, 'trial')} of nobody excluded" if count else ""


def list_checks(audit: Audit, name: Row) -> tuple[str, list[Row]]:
    """What a system's list fails, and of which list before it that is said already."""
    lists = audit.record.get("list_checks", {})
    own = "@".join(filter(None, name.values()))
    failed = lists.get(own, [])
    first = next((one for one, checks in lists.items() if checks == failed), own)
    return (first if failed and first != own else ""), failed


def failed_checks(audit: Audit) -> list[tuple[list[str], list[Row]]]:
    """What lists fail, each with all whose list fails the same."""
    same: list[tuple[list[str], list[Row]]] = []
    for name, failed in audit.record.get("list_checks", {}).items():
        names = next((names for names, checks in same if checks == failed), None)
        if names is None:
            same.append(([name], failed))
        else:
            names.append(name)
    return same


def confounding_sentences(audit: Audit, where: Row) -> Iterator[str]:
    """Which attributes go together with those that groups are made of, and how to look past them.

    Of attributes that tell each other, as ages and bands of age do, one is enough: that which
    goes together most.
    """
    lists, options = audit.record.get("confounding", {}), audit.record["options"]
    name = "@".join(filter(None, (where["system"], where["list"])))
    rows = lists.get(name, [])
    is_said = name != next((one for one, of in lists.items() if of == rows), name)
    if is_said or where["allocation"] != options["allocate"][0]:
        return
    grouping = where["grouping"]
    is_one = any(row["attribute"] == grouping for row in rows)  # whose name may hold a +
    own = [grouping] if is_one else grouping.split("+")
    with_own = [row for row in rows if row["attribute"] in own and row["other"] not in own]
    if is_one:
        for row in with_own:
            if row["relation"] in {"told", "alike"}:
                yield f"{row['sentence']}."
    of_one_kind = {(r["attribute"], r["other"]) for r in rows if r["relation"] in _OF_ONE_KIND}
    settled = {row["other"] for row in with_own if row["relation"] in _OF_ONE_KIND}
    for row in sorted(with_own, key=lambda row: -row["cramers_v"]):
        other = row["other"]
        if row["relation"] != "confounded" or other in settled:
            continue
        settled |= {other, *(kin for one, kin in of_one_kind if one == other)}
        is_within = other in (options["within"] or ()) or other in options["standardise"]
        name = row.get("as_given", other)
        mend = (
            "" if is_within else f". To examine this, use --within {name} or --standardise {name}"
        )
        yield f"{row['sentence']}{mend}."


# ---- groups


def group_eer_lines(audit: Audit, where: Row) -> Iterator[tuple[str, str]]:
    """Each group's own EER: how hard it is, whatever one threshold for all does to it."""
    options = audit.record["options"]
    asked = {**where, "within": "", "metric": "eer", "definition": options["eer"][0]}
    rows = [row for row in audit.groups.where(**asked).rows() if row["group"] != "pooled"]
    known = sorted((r for r in rows if r["high"] is not None), key=lambda row: -row["value"])
    is_of_two = len(rows) == 2
    ratios: dict[str, dict[str, Row]] = {}
    for row in audit.bias.where(**asked, measure="ratio", zero="none").rows():
        if row["high"] is not None:
            ratios.setdefault(row["reference"], {})[row["group"]] = row
    order = ("geomean" if is_of_two else "macro", *_REFERENCES)
    reference = next((one for one in order if one in ratios), None)
    if len(known) < 2 or reference is None:
        lacking = [row["group"] for row in rows if row["high"] is None or not row["value"]]
        if known and lacking:
            others = " and others" * (len(lacking) > _MOST_DIFFERING)
            names = f"{', '.join(lacking[:_MOST_DIFFERING])}{others}"
            yield "inconclusive", f"no interval, or an EER of 0, for {names}"
        return
    level, of_group = 1 - options["confidence"], ratios[reference]
    if is_of_two and reference == "geomean":
        # one group against the other is its ratio to the geometric mean, squared
        harder, easier = (row["group"] for row in known)
        ratio = of_group[harder]
        times, low, high = (float(ratio[name]) ** 2 for name in ("value", "low", "high"))
        words = (
            f"{short_number(times)} times {easier} {interval_text(low, high)}, "
            f"{p_value(ratio['p'])}"
        )
        is_shown = ratio["p"] <= level
        answer = f"{harder}: {words}" if is_shown else f"inconclusive: {harder} {words}"
        yield "the harder group", answer
        yield from ((row["group"], _eer(row)) for row in known)
        return
    differ = [
        row
        for row in known
        if row["group"] in of_group and of_group[row["group"]]["p_holm"] <= level
    ]
    n, whom = len(rows), _REFERENCES[reference]
    if not differ:
        yield "harder or easier", f"no group of {n} is shown to differ from {whom}"
        yield known[0]["group"], f"the highest: {_eer(known[0])}"
        yield known[-1]["group"], f"the lowest: {_eer(known[-1])}"
        return
    n_others = n - len(differ)
    rest = f"; the other {n_others} are inconclusive" if n_others else ""
    yield "harder or easier", f"{len(differ)} of {n} groups differ from {whom}{rest}"
    differ.sort(key=lambda row: -abs(math.log(of_group[row["group"]]["value"])))
    for row in differ[:_MOST_DIFFERING]:
        ratio = of_group[row["group"]]
        words = "harder" if ratio["value"] > 1 else "easier"
        times_ = (
            f"{short_number(ratio['value'])} times {interval_text(ratio['low'], ratio['high'])}"
        )
        yield row["group"], f"{words}: {_eer(row)}, {times_}, {p_value(ratio['p_holm'])}"
    if len(differ) > _MOST_DIFFERING:
        yield "", f"and {len(differ) - _MOST_DIFFERING} more that differ"


def _eer(row: Row) -> str:
    return f"EER {percent(row['value'])} {interval_text(row['low'], row['high'], times=100)}"


def limit_sentences(audit: Audit, where: Row) -> Iterator[str]:
    """Which groups meet each limit at each point, and of which it can't be told."""
    by_limit: dict[str, dict[str, list[str]]] = {}
    for row in limit_rows(audit, where):
        by_verdict = by_limit.setdefault(limit_text(audit, row), {})
        name = f"{row['group']}{_beyond(row) if row['verdict'] == 'not_met' else ''}"
        by_verdict.setdefault(row["verdict"], []).append(name)
    for limit, by_verdict in by_limit.items():
        answer = "; ".join(
            f"{words}: {', '.join(by_verdict[verdict])}"
            for verdict, words in _MET.items()
            if verdict in by_verdict
        )
        yield f"{limit}: {answer}."


def limit_rows(audit: Audit, where: Row) -> list[Row]:
    """What is held against a limit, but for what is within levels."""
    rows = audit.limits.where(**{**where, "within": ""}).rows()
    return [row for row in rows if row["measure"] in LIMITS]


def limit_text(audit: Audit, row: Row) -> str:
    """What a limit is of."""
    at = f" at {row['operating_point']}" if row["operating_point"] else ""
    if row["measure"] == "limit":
        return f"Limit of {100 * row['limit']:g} % on {row['metric'].upper()}{at}"
    times = f"{row['limit']:g} times that of {reference_text(audit)}"
    return f"Limit of {times} on {row['metric'].upper()}{at}"


def _beyond(row: Row) -> str:
    """By how much a limit is not met."""
    if row["measure"] == "limit":
        return f" ({percent(row['value'])} {interval_text(row['low'], row['high'], times=100)})"
    return f" ({short_number(row['value'])} times {interval_text(row['low'], row['high'])})"


def worst_tenth_sentences(audit: Audit, where: Row, point: str) -> Iterator[str]:
    """Of the pooled false rejects, the share of the speakers with the most."""
    asked = {**where, "within": "", "operating_point": point, "group": "pooled"}
    worst, equal = (
        [row["value"] for row in audit.limits.where(**asked, measure=measure).rows()]
        for measure in ("worst_tenth", "worst_tenth_if_equal")
    )
    if worst and worst[0] is not None:
        yield (
            f"At {point}, the 10 % of speakers with the most false rejects account for "
            f"{share_of_speakers(worst[0])} of them; {share_of_speakers(equal[0])} would be "
            "expected "
            "if all speakers had the same rate."
        )


def trend_sentences(audit: Audit, where: Row, point: str) -> Iterator[str]:
    """Whether errors rise or fall with a number, where groups are bands of one."""
    asked = {**where, "within": "", "measure": "trend", "operating_point": point}
    rows = audit.bias.where(**asked).rows()
    if not rows:
        return
    odds = []
    for row in sorted(rows, key=lambda row: [*ERROR_TYPES].index(row["metric"])):
        name = row["metric"].upper()
        if row["value"] is None:
            odds.append(f"{name}: {row['reason']}")
            continue
        ratio, low, high = (
            None if row[end] is None else math.exp(row[end]) for end in ("value", "low", "high")
        )
        interval = f" {interval_text(low, high)}, {p_value(row['p'])}" if low is not None else ""
        why = f" ({row['reason']})" if row["reason"] else ""
        odds.append(f"{name} x {short_number(ratio)}{interval}{why}")
    yield f"Odds of an error with {rows[0]['group']}, {rows[0]['definition']}: {'; '.join(odds)}."
