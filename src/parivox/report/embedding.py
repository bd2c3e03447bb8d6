"""What became of recordings, in a few lines that name none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.errors import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.embedding.extract import Embedded
    from parivox.embedding.store import Store

__all__ = ["checked", "embedded"]

_WORDS = {
    "too_short": "too short",
    "no_speech": "without speech",
    "unreadable": "not readable",
    "non_finite": "with values that are not finite",
    "silent": "silent",
}


def embedded(run: Embedded) -> Iterator[str]:
    """Lines of what a run did: how much, what failed, and where that is told.

    Parameters
    ----------
    run
        Only its counts are told, and no ids.
    """
    total, ok = sum(run.statuses.values()), run.statuses.get("ok", 0)
    had = total - run.new
    known = f", {had:,} of them earlier" if had else ""
    name = run.store.system["name"]
    yield shown(
        f"{ok:,} of {total:,} recordings ({_hours(run.seconds)}) are embedded by {name} in "
        f"{run.store.path}{known}."
    )
    failed = [f"{n:,} {_WORDS[status]}" for status, n in run.statuses.items() if status != "ok"]
    if failed:
        yield shown(
            f"{total - ok:,} failed: {', '.join(failed)}. An audit counts them as an outcome: see "
            f"status and reason in {run.store.path / 'recordings.parquet'}."
        )
    for one in run.store.about["probe"]["findings"]:
        if one["verdict"] == "fault":
            yield shown(f"A probe of {name} found a fault ({one['check']}): {one['words']}.")
    if run.passed_over:
        yield f"{run.passed_over:,} files were passed over: by their ending they are no recordings."


def checked(store: Store) -> Iterator[str]:
    """A line that says that a store is whole."""
    rows, crops, dimension = store.vectors.shape
    of_crops = f" of {crops} crops" if crops > 1 else ""
    yield shown(
        f"{store.path}: is whole: {len(store.table):,} recordings, {rows:,} embeddings{of_crops} "
        f"of {dimension} values by {store.system['name']}."
    )


def _hours(seconds: float) -> str:
    """A duration as a person says it.

    Examples
    --------
    >>> [_hours(s) for s in (12.3, 754, 20_043)]
    ['12 s', '12 min 34 s', '5 h 34 min']
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, hours = whole // 60, whole // 3600
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min {whole % 60} s"
