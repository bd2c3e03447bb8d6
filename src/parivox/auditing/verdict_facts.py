"""What is found at each operating point, as facts: of a group, in one rate or both, or of a system.

The sentences are in `parivox.report.verdict_sentences`. Verdicts that are read from audits of
earlier releases, which hold sentences, become facts by the same functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing.operating_points import NO_TRIALS
from parivox.core.intervals import UNKNOWN_SPEAKERS
from parivox.facts import fact, facts_of_cell, joined_facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

DIFFERENT = ("worse", "better")
_COMMON_REASONS = ("too_common", UNKNOWN_SPEAKERS, *NO_TRIALS.values())
"""Reasons named where they are those of all groups, the first that is."""


def ratio_values(ratio: float, low: float, high: float) -> dict[str, float]:
    """Return a ratio with its limits as values of a fact; none unless all are known."""
    numbers = {"ratio": ratio, "low": low, "high": high}
    return numbers if np.isfinite(list(numbers.values())).all() else {}


class RateVerdict(NamedTuple):
    """The verdict on a group in one rate."""

    metric: str
    verdict: str
    reason: str
    """A fact, empty unless the verdict is inconclusive."""
    ratio: float
    low: float
    high: float
    reference: str
    condition: Mapping[str, Any]
    """The group without which it is not shown to be better ("without"), if any, or that this was
    not checked ("unchecked")."""

    def fact(self) -> str:
        """Return what is found, as a fact."""
        values = {"metric": self.metric, "reference": self.reference}
        numbers = ratio_values(self.ratio, self.low, self.high)
        if self.verdict == "inconclusive":
            reason = facts_of_cell(self.reason)[0]
            return fact(
                "inconclusive", metric=self.metric, reason=reason.code, **reason.values, **numbers
            )
        if self.verdict == "equivalent":
            return fact("equivalent", **values, **numbers)
        if self.ratio == 0:
            return fact("error_free", **values, high=self.high, **self.condition)
        return fact("ratio_to_reference", **values, **numbers, **self.condition)


def joint_fact(verdicts: Mapping[str, str], worst_groups: Mapping[str, str]) -> str:
    """Return what is found of a group in both rates, by metric: as a fact.

    `worst_groups` are those without which it is not shown to be better; empty if there is none.
    """
    of_metrics = {
        metric: {"verdict": verdict}
        | ({"without": {"groups": [worst_groups[metric]]}} if worst_groups[metric] else {})
        for metric, verdict in verdicts.items()
    }
    return fact("both_error_types", **of_metrics)


class ComparedGroups(NamedTuple):
    """The verdicts on the groups that are compared with the reference, in one rate or both."""

    groups: list[str]
    codes: NDArray[np.str_]  # [metric, group]
    worst_groups: NDArray[np.object_]  # [metric, group]
    reasons: NDArray[np.str_]  # [metric, group]

    def select(self, is_selected: NDArray[np.bool_]) -> ComparedGroups:
        """Return some of the groups."""
        return ComparedGroups(
            _selected(self.groups, is_selected),
            self.codes[:, is_selected],
            self.worst_groups[:, is_selected],
            self.reasons[:, is_selected],
        )

    def worst_by_group(self) -> list[tuple[str, ...]]:
        """Return the worst groups that a group differs only because of; none if it does anyway."""
        differs_anyway = (np.isin(self.codes, DIFFERENT) & (self.worst_groups == "")).any(axis=0)
        return [
            () if differs else tuple(dict.fromkeys(filter(None, worst_of_rates)))
            for differs, worst_of_rates in zip(
                differs_anyway, self.worst_groups.T.tolist(), strict=True
            )
        ]


def _selected(groups: Sequence[str], is_selected: Sequence[bool] | NDArray[np.bool_]) -> list[str]:
    return [group for group, selected in zip(groups, is_selected, strict=True) if selected]


class SystemVerdict(NamedTuple):
    """The verdict on a system in one rate or both, and what it rests on."""

    verdict: str
    compared: ComparedGroups
    threshold: float
    margin: float
    n_groups: int
    """With the reference, where it is a group."""
    p_of_all: float
    """Of all groups at once, adjusted by Holm; NaN for none, and in both rates together."""
    differs_at_once: bool
    """Whether that test shows a difference."""
    assumption: str
    """What the test takes for granted, as the code of a fact; empty for nothing."""
    reference: str

    def facts(self) -> str:
        """Return what is found, as facts of one cell."""
        facts_of_groups = [*self._facts_of_groups()]
        if np.isnan(self.p_of_all):
            return joined_facts(*facts_of_groups)
        if self.differs_at_once:
            return joined_facts(self._rates_differ(), *facts_of_groups)
        if self.n_groups > 2:  # of two groups, the test is that of their ratio
            facts_of_groups.append(fact("heterogeneity_test", p=self.p_of_all))
        return joined_facts(*facts_of_groups)

    def _rates_differ(self) -> str:
        values: dict[str, Any] = {} if np.isnan(self.p_of_all) else {"p": self.p_of_all}
        if self.assumption:
            values["assumption"] = self.assumption
        return fact("rates_differ", **values)

    def _facts_of_groups(self) -> Iterator[str]:
        """Yield what is found of the groups; those without trials cannot differ, and are last."""
        reasons = self.compared.reasons
        has_no_trials = np.asarray(np.isin(reasons, list(NO_TRIALS.values())).all(axis=0))
        if not has_no_trials.any() or has_no_trials.all():
            yield from self._facts_of(self.compared)
            return
        yield from self._facts_of(self.compared.select(~has_no_trials))
        missing_classes = {*reasons[:, has_no_trials].flat}
        missing_class = missing_classes.pop() if len(missing_classes) == 1 else "no_trials"
        yield fact(
            "groups_without_trials", groups=int(has_no_trials.sum()), reason=str(missing_class)
        )

    def _facts_of(self, compared: ComparedGroups) -> Iterator[str]:
        n_groups = len(compared.groups)
        if self.verdict == "equivalent":
            yield fact(
                "all_groups_equivalent",
                groups=n_groups,
                margin=self.margin,
                reference=self.reference,
            )
            return
        n_inconclusive = int((compared.codes == "inconclusive").any(axis=0).sum())
        if self.verdict == "differs":
            yield from self._differing_groups(compared, n_inconclusive)
            return
        common_reason = next(
            (reason for reason in _COMMON_REASONS if (compared.reasons == reason).all()), ""
        )
        if np.isinf(self.threshold):
            common_reason = "infinite_threshold"
        if common_reason:
            yield fact("all_groups_inconclusive", groups=n_groups, reason=common_reason)
            return
        yield fact("no_significant_difference")
        if n_inconclusive == n_groups:
            yield fact("all_groups_inconclusive", groups=n_groups)
        else:
            yield fact("some_groups_inconclusive", inconclusive=n_inconclusive, groups=n_groups)

    def _differing_groups(self, compared: ComparedGroups, n_inconclusive: int) -> Iterator[str]:
        """Yield which groups differ, where some do, and how many are inconclusive."""
        groups, codes = compared.groups, compared.codes
        worst_by_group = compared.worst_by_group()
        differs_anyway = np.array([not worst_groups for worst_groups in worst_by_group])
        conditional_facts = []
        for worst_groups in dict.fromkeys(filter(None, worst_by_group)):
            better_groups = _selected(groups, [worst == worst_groups for worst in worst_by_group])
            without = {"groups": [*worst_groups]}
            conditional_facts.append(fact("better_groups", groups=better_groups, without=without))
        if len(codes) > 1:  # both rates
            is_different = np.isin(codes, DIFFERENT).any(axis=0)
            different_groups = _selected(groups, is_different & differs_anyway)
            if different_groups:
                yield fact("different_groups", groups=different_groups, all_groups=len(groups))
            else:
                yield self._rates_differ()
            yield from conditional_facts
            if n_inconclusive == len(groups):
                yield fact("all_groups_inconclusive", groups=n_inconclusive)
            elif n_inconclusive:
                yield fact("number_inconclusive", inconclusive=n_inconclusive)
            return
        for code in DIFFERENT:
            groups_of_code = _selected(groups, (codes[0] == code) & differs_anyway)
            if groups_of_code:
                yield fact(f"{code}_groups", groups=groups_of_code)
        yield from conditional_facts
        if n_inconclusive == len(groups):
            yield fact("all_groups_inconclusive", groups=n_inconclusive)
        elif n_inconclusive:
            yield fact("some_groups_inconclusive", inconclusive=n_inconclusive, groups=len(groups))
