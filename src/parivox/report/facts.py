"""What an audit is of, in words that the terminal and the page share, and whether it has ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.auditing.account import POINTS, WITHOUT_TRIALS
from parivox.errors import ConfigError
from parivox.report.scopes import name_of
from parivox.report.words import Row, number, percent

if TYPE_CHECKING:
    from parivox.auditing.result import Audit

__all__ = [
    "check_speaker_ids",
    "deployed_at",
    "headline",
    "noted",
    "odd_points",
    "recordings_told",
    "unseen",
    "why_unsure",
]

_FEW_THRESHOLDS = 5
_READ = {
    *("rows", "trials", "target trials", "nontarget trials", "files of counts"),
    *("models", "recordings"),
}
_NO_INTERVAL = "no interval: "


def noted(audit: Audit, name: Row) -> list[str]:
    """What was left out, kept or counted once, but not how much was read."""
    return [_aside(row) for row in audit.data.where(**name).rows() if _is_noteworthy(row)]


def unseen(audit: Audit) -> list[str]:
    """Which groups no trial has anyone of, in a clause for each grouping."""
    rows = audit.data.where(item=WITHOUT_TRIALS).rows()
    return list(dict.fromkeys(map(_aside, rows)))


def odd_points(audit: Audit) -> list[str]:
    """Operating points that miss their rate or have an infinite threshold, for each system."""
    return [
        f"{name_of(row['system'], row['list'])}: {_aside(row)}"
        for row in audit.data.where(source=POINTS).rows()
    ]


def recordings_told(audit: Audit, name: Row) -> str:
    """How many recordings, and models, the trials are of; empty where that is not known."""
    counts = {row["item"]: row["count"] for row in audit.data.where(**name, source="scores").rows()}
    recordings, models = counts.get("recordings"), counts.get("models")
    if recordings is None:
        return ""
    if models is None:
        return f"{number(recordings)} recordings"
    return f"{number(models)} models and {number(recordings)} test recordings"


def check_speaker_ids(audit: Audit, speaker_ids: str) -> None:
    """Refuse to name speakers that the audit did not note.

    Raises
    ------
    ConfigError
        If the option is not known, or the audit was made without it.
    """
    if speaker_ids not in {"never", "offenders"}:
        msg = f"--speaker-ids {speaker_ids!r} is not known; choose never or offenders"
        raise ConfigError(msg)
    if speaker_ids == "offenders" and audit.record["options"].get("speaker_ids") != "offenders":
        msg = (
            "--speaker-ids offenders: the audit holds no ids of speakers; audit again with "
            "--speaker-ids offenders"
        )
        raise ConfigError(msg)


def why_unsure(audit: Audit, name: Row) -> str:
    """Why there are no intervals; empty where there are."""
    if not audit.record["options"]["intervals"]:
        return "--no-intervals was given"
    whole = audit.groups.where(**name, grouping="all", within="").rows()
    notes = [row["note"] for row in whole if row["value"] is not None]
    has_any = any(row["interval"] for row in whole)
    return "" if has_any or not notes else notes[0].removeprefix(_NO_INTERVAL)


def headline(whole: list[Row]) -> str:
    """The EER and the minimum costs of all trials."""
    told = []
    for row in whole:
        if row["metric"] == "eer" and row["value"] is not None:
            told.append(f"EER {percent(row['value'])} ({row['definition']})")
        if row["metric"] == "min_cdet_norm" and row["value"] is not None:
            told.append(f"min cost {row['value']:.4f} ({row['definition']})")
    reasons = {row["reason"] for row in whole if row["metric"] == "eer"}
    return ", ".join(told) + "." if told else f"No EER: {', '.join(sorted(reasons))}."


def _is_noteworthy(row: Row) -> bool:
    """Whether a count says more than how much was read."""
    return (
        bool(row["count"])
        and not row["group"]
        and row["source"] != "conflicts"
        and row["item"] not in _READ
    )


def _aside(row: Row) -> str:
    if row["item"] == WITHOUT_TRIALS:
        whom = f"{row['count']:,} speaker{'s' * (row['count'] > 1)} by {row['grouping']}"
        return f"no trial has anyone of {row['note']} ({whom}), so nothing is known of them"
    if row["source"] == POINTS:
        return f"{row['item']}: {row['note']}"
    where = f" [{row['grouping']}]" if row["grouping"] else ""
    note = f" ({row['note']})" if row["note"] else ""
    return f"{row['count']:,} {row['item']}{where}{note}"


def deployed_at(audit: Audit, name: Row) -> str:
    """The thresholds that trials were decided at."""
    rows = audit.data.where(**name, grouping="all", group="all", within="").rows()
    levels = [row["value"] for row in rows if row["item"].startswith("trials at the deployed")]
    if not levels:
        return "decisions"
    told = [f"{level:.6g}" for level in sorted(levels)]
    return ", ".join(told) if len(told) <= _FEW_THRESHOLDS else f"{told[0]} to {told[-1]}"
