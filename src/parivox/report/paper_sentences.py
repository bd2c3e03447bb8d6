"""Sentences of the catalogue on the four papers: claims, the reasons for their verdicts, notes.

The papers are listed in docs/references.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.facts import facts_of_cell
from parivox.report.list_sentences import LIST_SENTENCES
from parivox.report.paper_examples import EXAMPLES
from parivox.report.sentence_template import SentenceTemplate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Values = Mapping[str, Any]
    ValueText = Callable[[Any], str]

_NUMBER_FORMAT = len(".2f")
"""Length of the format of a number, behind which its unit stands."""


class _Figure(dict[str, Any]):
    """A figure with its interval: ``{name:.2f %}`` is ``0.27 % [0.22, 0.34]``."""

    def __getattr__(self, name: str) -> Any:
        return self[name]

    def __format__(self, format_spec: str) -> str:
        number_format, unit = format_spec[:_NUMBER_FORMAT], format_spec[_NUMBER_FORMAT:]
        words = f"{self['value']:{number_format}}{unit}"
        if self["low"] is None:
            return words
        return f"{words} [{self['low']:{number_format}}, {self['high']:{number_format}}]"


class _Names(list[str]):
    """Names, separated by commas; none if there are none."""

    def __format__(self, format_spec: str) -> str:
        return ", ".join(self) or "none"


def _formattable(value: Any) -> Any:
    if isinstance(value, dict) and {"value", "low"} <= value.keys():
        return _Figure(value)
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return _Names(value)
    return value


def _filled(words: str, values: Values) -> str:
    return words.format(**{name: _formattable(value) for name, value in values.items()})


def _with_texts(words: str, **texts: ValueText) -> Callable[[Values], str]:
    """Return a template of words, in which some values have texts of their own."""

    def sentence(values: Values) -> str:
        return _filled(
            words, {**values, **{name: text(values[name]) for name, text in texts.items()}}
        )

    return sentence


def _joined(each_text: str | ValueText, joint: str) -> ValueText:
    """Return a template of the texts of several values, one behind the other."""

    def text(values: Any) -> str:
        if not isinstance(each_text, str):
            return joint.join(map(each_text, values))
        return joint.join(
            _filled(each_text, {"each": value, **(value if isinstance(value, dict) else {})})
            for value in values
        )

    return text


def _cell_text(cell: str) -> str:
    """Return what a check of a list found."""
    return "; ".join(
        LIST_SENTENCES[fact.code].with_values(fact.values) for fact in facts_of_cell(cell)
    )


def _change_text(change: Values) -> str:
    """Return by how much the curves of women and men of a nationality move apart."""
    few_people = ", of too few people" if change["wider"]["low"] is None else ""
    words = "{nationality} {ratios[0]:.2f} and {ratios[1]:.2f}, wider by {wider:.2f}"
    return _filled(words, change) + few_people


def _crossing_text(crossing: Values) -> str:
    """Return the FPRs at which the terms of a measure change places."""
    fprs = _Names(f"{fpr:.1f} %" for fpr in crossing["fprs"])
    return f"{fprs} ({crossing['system']})"


def _lower_text(count: Values) -> str:
    """Return at how many FPRs one system has the lower value."""
    words = f"{count['lower']} of {count['fprs']} FPRs on {count['speakers']}"
    return words if count["above"] is None else f"{words}, those above {count['above']:.2f} %,"


_RATES_OF_GROUPS = _joined(
    "{metric} from {lowest:.2f} to {highest:.2f} %, over those of enough people Gini {gini:.2f}, "
    "95 % of fair systems below {gini.floor_95:.2f}",
    "; ",
)
_CLAIMS: dict[str, tuple[str, str | Callable[[Values], str]]] = {
    # paper 000: As Biased as You Measure
    "measures_rank_alike": (
        (
            "For a base metric all bias measures rank groups alike; another base metric can rank "
            "them otherwise (4.1)"
        ),
        (
            "the first follows from their definitions, and is so in print; there "
            "{first_groups[0]} and {first_groups[1]} come first, by EER and by minCDet"
        ),
    ),
    "log_ratio_of_favoured": (
        "The log ratio is above 0 for favoured groups (table 1)",
        "in table 4 its sign is the opposite for {opposite} of {groups} groups",
    ),
    "list_i_is_harder": (
        "On VoxCeleb1-H EER is 2.402 % and minCDet 0.008; on VoxCeleb1-I they are 50 % greater",
        (
            "the first are {eer:.4f %} and {cost:.5f}; the second follows from print "
            "({increase[0]:.2f} and {increase[1]:.2f} times), as that list is not public"
        ),
    ),
    "base_metric_changes_side": (
        (
            "Another base metric leads to another conclusion: men from India are favoured by EER "
            "(0.880) and prejudiced against by minCDet (1.571)"
        ),
        (
            "they are {eer:.2f} and {common:.2f}; at a threshold of their own, where the EER is "
            "taken, too, their cost is {own:.2f} times that of everyone. {n_changed} of {groups} "
            "groups change sides ({changed}), with both at own thresholds {changed_at_own}; shown"
            " to be on a side by either: {significant}"
        ),
    ),
    "fdr_over_alpha": (
        "At FPR 0.001 FDR nears 1 as the weight of FPR rises; at 0.1 it falls",
        _with_texts(
            "{ranges}",
            ranges=_joined(
                "from {start:.3f} to {stop:.3f}",
                ", and ",
            ),
        ),
    ),
    "nrb_over_fpr": (
        "With falling FPR the NRB of FPR rises, and that of FNR falls",
        _with_texts(
            "FPR {fpr}; FNR {fnr}, at FPRs of 0.001, 0.01, 0.025, 0.05 and 0.1",
            fpr=_joined(
                "{each:.2f}",
                ", ",
            ),
            fnr=_joined(
                "{each:.2f}",
                ", ",
            ),
        ),
    ),
    "fdr_contradicts_nrb": (
        (
            "At FPR 0.001 FDR of false accepts is about 0.99, minimal bias, and NRB about 0.65, "
            "substantial discrepancies: they contradict each other"
        ),
        "FDR is {fdr:.3f} and NRB {nrb:.3f}; what of this is beyond chance: claim 4.3",
    ),
    "attacker_succeeds": (
        (
            "An attacker who tries once a minute likely succeeds after 17 hours at FPR 0.001, "
            "after 3.5 hours at 0.005"
        ),
        "with chances {chances[0]:.3f} and {chances[1]:.3f}, if attempts are independent",
    ),
    "indian_men_fall_sooner": (
        "A device of a man from India falls after 3.5 hours in place of 17",
        (
            "the FPR of {group} is {fpr:.2f} times the overall one, of {speakers} people; the "
            "same chance takes {hours:.1f} hours"
        ),
    ),
    "nrb_identifies_bias": (
        (
            "At FPR 0.001 NRB correctly identifies the system as biased, while FDR misrepresents "
            "the risk"
        ),
        _with_texts(
            "compared with equal rates among these people {group_sets}: first neither exceeds"
            " chance, then both do",
            group_sets=_joined(
                "over {group_set} FDR {fdr.value:.3f} (p {fdr.p:.3f}) and NRB {nrb.value:.3f}"
                " (p {nrb.p:.3f})",
                "; ",
            ),
        ),
    ),
    "ratios_keep_magnitude": (
        (
            "Ratio-based measures do not depend on the magnitude of the base metric, "
            "difference-based ones do (5)"
        ),
        "by their definitions: of rates a tenth as great the range is a tenth, NRB the same",
    ),
    "ratios_recommended": (
        (
            "We recommend the use of ratio-based bias measures, in particular when the values of "
            "base metrics are small"
        ),
        _with_texts(
            "that ratios show more where rates are small is not confirmed: over all groups p "
            "under equal rates is {points}",
            points=_joined(
                "at FPR {fpr:g} FDR {fdr:.3f} and NRB {nrb:.3f}",
                "; ",
            ),
        ),
    ),
    # paper 001: Bias in Automated Speaker Recognition
    "rates_differ_by_group": (
        "At the overall threshold error rates differ much between subgroups",
        _with_texts("{rates}", rates=_RATES_OF_GROUPS),
    ),
    "costs_of_challenges": (
        (
            "Different versions of the detection cost are in use, which is impractical for "
            "consistent evaluation (5.3)"
        ),
        (
            "the same scores of {system} have a minimum of {lowest[cost]:.3f} as in "
            "{lowest[challenge]} and of {highest[cost]:.3f} as in {highest[challenge]}. "
            "{n_changed} of {groups} groups change sides with the version ({changed}); of these "
            "shown to be on one, at the cost of table 4: {significant}"
        ),
    ),
    "women_are_fewer": (
        "Women are fewer, and each of them has fewer utterances (5.3)",
        (
            "{women} women and {men} men, with {utterances[0]:.0f} and {utterances[1]:.0f} "
            "utterances each on average; the paper says it of three lists"
        ),
    ),
    "groups_with_higher_costs": (
        "{printed_worse} groups fare worse than average, {printed_better} better",
        (
            "adjusted for all 18 groups, shown to be worse: {worse}; better: {better}; the others"
            " are inconclusive"
        ),
    ),
    "own_thresholds_help_women": (
        "Thresholds of their own would help women more (1.37 on average) than men (1.09; 5.4)",
        (
            "counted exactly the means are {means[0]:.2f} and {means[1]:.2f}, over groups of as "
            "few as five people, on the trials that thresholds were found on (claim 5.4)"
        ),
    ),
    "fpr_of_indian_women": (
        "Women from India face 13 times the average FPR (5.3)",
        (
            "13 is the ratio to men from the USA, by whose rates the table divides; to everyone "
            "it is {fpr:.2f times}, which has room for 13"
        ),
    ),
    "fnr_of_indian_women": (
        "They face 1.3 times the average FNR, a higher risk of exclusion (5.3)",
        "to everyone it is {fnr:.2f times}",
    ),
    "rates_of_american_men": (
        "Men from the USA have error rates in line with the average (5.3)",
        (
            "they are 1 as they are divided by themselves; to everyone the FPR is {fpr:.2f times}"
            " and the FNR {fnr:.2f times}"
        ),
    ),
    "fit_to_american_speakers": (
        "The model is fit to the dominant population in the training data, US speakers (5.1)",
        (
            "their subgroup bias is {bias:.2f}, p {bias.p_holm:.3f} adjusted for {nationalities} "
            "nationalities, though {share:.0f} % of all trials are their own; shown to be below "
            "1: {better}"
        ),
    ),
    "bias_of_men_near_1": (
        "The subgroup bias of men is close to 1 or below it for both systems",
        (
            "table 4 prints {norway_m:.2f} for norway_m. Counted it is above 1 for {above[0]} and"
            " {above[1]} of {groups} groups of men, adjusted shown to be: {significant}"
        ),
    ),
    "bias_of_americans_is_equal": (
        "The bias of men and of women from the USA is the same for both systems",
        _with_texts(
            "it differs for {differences}: alike is more than not shown to differ",
            differences=_joined(
                "{group} by {difference:+.3f} [{low:+.3f}, {high:+.3f}]",
                " and for ",
            ),
        ),
    ),
    "neither_system_is_fairer": (
        (
            "Neither system definitively has the smaller differences: ResNetSE34V2 has the lower "
            "bias for 7 groups, ResNetSE34L for 10"
        ),
        (
            "counted {lower[0]} and {lower[1]}, usa_m among these (0.836 and 0.832); adjusted "
            "shown to differ: {differing}; nor does NRB of the cost: {nrb[difference]:+.3f} "
            "[{nrb[low]:+.3f}, {nrb[high]:+.3f}]"
        ),
    ),
    "rates_at_printed_score": (
        "At the score -1.024 FPR is 0.27 % and FNR 10.36 %",
        "FPR {fpr:.2f %}; FNR {fnr:.2f %}",
    ),
    "curves_of_women_and_men": (
        "From ResNetSE34V2 to ResNetSE34L curves of women and men are {change} for {nationalities}",
        _with_texts(
            "EER of women over men, and change in logarithm: {changes}",
            changes=_joined(_change_text, "; "),
        ),
    ),
    "indian_women_at_any_threshold": (
        "Whatever the threshold, women from India fare worse than everyone",
        (
            "their curve lies above that of everyone at {above} of {fprs} FPRs from 0.1 to 10 %, "
            "but they are 11 people: by EER {eer:.2f times}, p {eer.p_holm:.2f} after adjusting "
            "for all groups"
        ),
    ),
    "british_and_american_women": (
        "Near the tuned thresholds women from the UK and the USA fare worse, too",
        _with_texts(
            "table 4 prints {usa_f:.2f} for usa_f, better than average. Around the overall "
            "FPR (a third, once, three times) the curve lies above that of everyone at "
            "{groups}",
            groups=_joined(
                "{above} of 3 for {group}",
                "; ",
            ),
        ),
    ),
    "threshold_keeps_american_fnr": (
        (
            "The overall threshold does not move the FNR of people from the USA, and improves "
            "their FPR"
        ),
        _with_texts(
            "it improves the FPR; but along a curve a lower FPR costs FNR. At the overall "
            "against their own threshold {groups}",
            groups=_joined(
                "{group}: FPR {fpr[0]:.2f} against {fpr[1]:.2f} %, FNR {fnr[0]:.1f} against "
                "{fnr[1]:.1f} %",
                "; ",
            ),
        ),
    ),
    "own_threshold_is_closer": (
        "At its own threshold each group's FPR and FNR are closer to those of everyone",
        (
            "of {groups} groups it is not so for {not_closer}, by rates without intervals, on the"
            " trials that thresholds were found on"
        ),
    ),
    "skewed_to_american_men": (
        "VoxCeleb1 is skewed towards men and people from the USA (6.2)",
        (
            "of {speakers:,} speakers {men:.1f} % are men and {usa:.1f} % from the USA; {small} "
            "of {nationalities} nationalities have fewer than five speakers"
        ),
    ),
    "curves_of_women_above": (
        "The curves of women lie mostly above that of everyone",
        (
            "by EER they are for {above} of {nationalities} nationalities; adjusted for all "
            "groups, shown to be worse: {worse}"
        ),
    ),
    "curves_of_men_below": (
        "The curves of men lie below it",
        (
            "by EER they are for {below} of {nationalities} nationalities; shown to be better: "
            "{better}"
        ),
    ),
    "other_women_have_higher_costs": (
        "All women but those from the USA have a subgroup bias above 1",
        "table 4 prints values below 1 for {printed_below}",
    ),
    "own_thresholds_help_everybody": (
        "All groups would perform better if tuned to their own threshold (5.4, 7.1)",
        (
            "on the trials that it is found on a threshold of one's own cannot harm, by "
            "definition; found on other speakers, in the {tested} of {groups} groups of ten "
            "people or more, {without_gain} do not gain. By itself an interval is above 1 for "
            "{above} and below 1 for {below}, adjusted for {tested} groups for {significant}"
        ),
    ),
    "women_differ_in_every_subgroup": (
        "The difference between women and men persists across minority and dominant subgroups",
        (
            "of {nationalities} nationalities with both, women have the greater EER in {n_by_eer}"
            " ({by_eer}) and cost in {n_by_cost}; adjusted, shown to differ from men: "
            "{significant}; in print women of {printed_lower} have the lower subgroup bias"
        ),
    ),
    "women_and_non_americans_affected": (
        (
            "Most affected are female speakers and non-US nationalities, who experience "
            "significant performance degradation (abstract, 8)"
        ),
        (
            "taken together, at the overall threshold: women's cost is {cost:.2f times} that of "
            "men, by FPR {fpr:.2f times} and by FNR {fnr:.2f times}; that of people from "
            "elsewhere {elsewhere:.2f times} that of people from the USA. By EER women are at "
            "{eer:.2f times}; of single nationalities shown to be worse by cost: {worse}"
        ),
    ),
    "rates_differ_by_nationality": (
        "Performance is disparate across nationalities (5.1)",
        _with_texts(
            "at the overall threshold {rates}; by EER shown to be worse than everyone: {worse}; "
            "better: {better}",
            rates=_RATES_OF_GROUPS,
        ),
    ),
    # paper 002: Design Guidelines for Inclusive Speaker Verification Evaluation Datasets
    "trivial_pairs_are_easier": (
        "Pairs of one speaker from one recording (trivial) are easier than others (medium)",
        "at an FPR of 1 % the FNR of the others is {ratio:.0f times} theirs",
    ),
    "pairs_of_voxceleb1_h": (
        "These are the pairs of VoxCeleb1-H",
        (
            "{agreeing} of {nationalities} numbers of speakers agree; pairs do not for "
            "{pairs_differ} ({printed_pairs:,} printed, {pairs:,} in the list), shares of trivial"
            " ones for {shares_differ}: most likely it is another draw from the same utterances"
        ),
    ),
    "trivial_shares_differ": (
        "Each nationality has trivial pairs, in shares that differ",
        "in the list they are {lowest:.1f} to {highest:.1f} %",
    ),
    "fnr_at_fpr_of_1_percent": (
        "On VoxCeleb1-H an FPR of 1 % results in an FNR of 5 %",
        "it is {fnr:.2f %}",
    ),
    "medium_pairs_triple_fnr": (
        "It triples to 15 % where pairs of the same speaker are exclusively of medium difficulty",
        (
            "of the pairs of VoxCeleb1-H without the trivial ones it is {fnr:.2f %}: what else "
            "sets the paper's inclusive list apart, which is not public, makes most of the "
            "difference"
        ),
    ),
    "curves_differ_least_in_middle": (
        "Curves of lists differ least in their middle, more where FPR is low",
        (
            "the EER spreads less than the minimum cost, which is at an FPR below 1 %, in "
            "{smaller} of {cases} cases, of five lists each"
        ),
    ),
    "worst_of_five_lists": (
        "For Canada and n = 50 the worst minDCF of five lists is 30 % above the best",
        "by {range:.0f} %; drawing other speakers moves the cost by {sd_over_speakers:.0f} % (sd)",
    ),
    "more_pairs_are_more_robust": (
        "The evaluation is more robust when n is larger",
        _with_texts(
            "of its n, 50 to 520, these lists have 50 and 75: worst over best goes {ranges}",
            ranges=_joined(
                "from {at_50:.0f} to {at_75:.0f} % ({group})",
                ", ",
            ),
        ),
    ),
    "spread_by_nationality": (
        "The spread is least for the UK and greatest for India, which has fewest speakers",
        "at n = {pairs_per_speaker} least for {smallest}, greatest for {largest}",
    ),
    "algorithm_gives_equal_counts": (
        "Algorithm 1 gives a list with an equal count of pairs per speaker (4.3.1)",
        _with_texts(
            "the listing cannot be run (its counter never advances), and the paper's list is "
            "not public; corrected as --compat hutiri2022 has it, which may draw a "
            "pair twice, {listed}; by the default of Parivox {inclusive}",
            listed=_cell_text,
            inclusive=_cell_text,
        ),
    ),
    "pairs_are_unequal": (
        (
            "VoxCeleb1-H gives speakers neither as many pairs nor pairs of the same difficulty "
            "(4.2; guidelines 3 and 4)"
        ),
        _with_texts(
            "{g3}; {g4}. It fails guidelines {failed}, a list of Algorithm 1 as corrected "
            "{failed_as_listed}, one by the default of Parivox {failed_inclusive}",
            g3=_cell_text,
            g4=_cell_text,
        ),
    ),
    # paper 003: A Comparison of Differential Performance Metrics
    "fairness_costs_accuracy": (
        (
            "Fairness comes at the cost of accuracy: the fairest system, by GARBE, has the worst "
            "verification performance (5, 6)"
        ),
        _with_texts(
            "by printed rates, with alpha 0.5, GARBE is least for {fairest}, and its EER the "
            "greatest; by FDR {least_fair_by_fdr} is the least fair. A fair system of eight "
            "people a nationality shows a GARBE of {fair_garbe[0]:.2f} to {fair_garbe[1]:.2f}"
            " on average, and less the more errors it makes; beyond that are {excess}. Above "
            "95 % of fair systems are {n_unfair} of {systems} if speakers differ as they "
            "plausibly do, and {unfair_if_more} if they differ more. No interval separates "
            "two",
            excess=_joined(
                "{garbe:.2f} ({system})",
                ", ",
            ),
        ),
    ),
    "terms_change_places": (
        "Below an FPR of {fpr} % {lower} is above {upper}, beyond it below",
        _with_texts(
            "so for {same_order} of {cases}, but they change places at {crossings}",
            crossings=_joined(_crossing_text, "; "),
        ),
    ),
    "criterion_of_scale": (
        "FFMC.1: FPR and FNR contribute to IR and GARBE on one scale, not so to FDR",
        _with_texts(
            "the larger of the two terms is in median so many times the smaller: {ratios}; "
            "the paper names no limit that would part them",
            ratios=_joined(
                "{measure} {least:.1f} to {most:.1f} times",
                "; ",
            ),
        ),
    ),
    "criterion_of_bounds": (
        "FFMC.2: FDR and GARBE have bounds, IR has none",
        "by their definitions; IR reaches {ir:.0f} here",
    ),
    "criterion_without_errors": (
        "FFMC.3: FDR and GARBE can be computed where a group has no errors, IR cannot",
        _with_texts(
            "of their values at such thresholds are defined: {shares}, IR where such a rate "
            "has no weight; where no group at all has errors GARBE is 0 / 0, counted as 0",
            shares=_joined(
                "{measure} {share:.0f} %",
                "; ",
            ),
        ),
    ),
    "fdr_near_1_at_low_fpr": (
        "At an FPR of 0.1 % FDR is concentrated in 0.82 to 1, whatever alpha",
        _with_texts(
            "{ranges}, as rates are small: its terms have medians {medians}, FPD and FND",
            ranges=_joined(
                "{lowest:.2f} to {highest:.2f} on {speakers}",
                "; ",
            ),
            medians=_joined(
                "{fpd:.3f} and {fnd:.3f} ({speakers})",
                "; ",
            ),
        ),
    ),
    "fdr_near_1": (
        "At FPRs of 0.1 to 10 % FDR is concentrated in 0.72 to 1",
        _with_texts(
            "{ranges}",
            ranges=_joined(
                "{lowest:.2f} to {highest:.2f} on {speakers}",
                "; ",
            ),
        ),
    ),
    "garbe_spans_more": (
        "At an FPR of 0.1 % GARBE spans more than FDR (0.19 to 0.61 in print)",
        _with_texts(
            "{ranges}, FDR {fdr_ranges}",
            ranges=_joined(
                "{lowest:.2f} to {highest:.2f} on {speakers}",
                "; ",
            ),
            fdr_ranges=_joined(
                "{lowest:.2f} to {highest:.2f} on {speakers}",
                "; ",
            ),
        ),
    ),
    "garbe_terms_are_comparable": (
        (
            "There GARBE's terms are of comparable magnitude: FPD has a median of 0.55, FND of "
            "0.29 (4.1.3)"
        ),
        _with_texts(
            "{medians}, so that FPD is {ratios} times FND, not twice",
            medians=_joined(
                "{fpd:.3f} and {fnd:.3f} ({speakers})",
                "; ",
            ),
            ratios=_joined(
                "{each:.1f}",
                " and ",
            ),
        ),
    ),
    "garbe_spans_all": (
        (
            "At FPRs of 0.1 to 10 % GARBE spans all of 0 to 1, its terms on the same scale: "
            "medians 0.21 (FPD) and 0.88 (FND)"
        ),
        _with_texts(
            "{ranges}, with medians {medians}; in print, which has them for 3(c), most likely"
            " a slip for 4(c), the second is 4.2 times the first",
            ranges=_joined(
                "{lowest:.2f} to {highest:.2f} on {speakers}",
                "; ",
            ),
            medians=_joined(
                "{fpd:.3f} and {fnd:.3f} ({speakers})",
                "; ",
            ),
        ),
    ),
    "few_values_of_ir": (
        "Few values of IR are computable: 8.6 % (4.2.2, as it is read here)",
        _with_texts(
            "{shares}: it is a matter of how many trials a group has",
            shares=_joined(
                "{share:.0f} % on {speakers}",
                "; ",
            ),
        ),
    ),
    "ir_reaches_200": (
        "IR reaches 200",
        _with_texts(
            "{ranges}, where it is defined",
            ranges=_joined(
                "{lowest:.2f} to {highest:.2f} on {speakers}",
                "; ",
            ),
        ),
    ),
    "smaller_system_has_lower_garbe": (
        (
            "ResNetSE34L has the lowest GARBE at all FPRs from 0.1 to 10 %, ResNetSE34V2 the "
            "highest at most"
        ),
        _with_texts(
            "ResNetSE34L is the lower at {lower}; ResNetSE34V2 less ResNetSE34L is {differences}",
            lower=_joined(_lower_text, " and "),
            differences=_joined(
                "{difference:.3f} ({operating_point})",
                ", ",
            ),
        ),
    ),
    "smaller_system_is_less_accurate": (
        "ResNetSE34L is less accurate than ResNetSE34V2",
        _with_texts(
            "the EER of ResNetSE34V2 less that of ResNetSE34L is {differences}",
            differences=_joined(
                "{difference:.2f} points on {speakers}",
                "; ",
            ),
        ),
    ),
    "ir_computable_for_one": (
        (
            "At an FPR of 0.1 % IR is computable for ResNetSE34V2 only (13.35), as in the other "
            "four systems some group has no false accepts"
        ),
        (
            "with alpha 0.5 and on other trials, for {computable}: not for ResNetSE34V2 either, "
            "on nine nationalities or on 63 speakers"
        ),
    ),
    "nationalities_differ_consistently": (
        "There are consistent differences in {metric} (its {paper_metric}) among nationalities",
        _with_texts(
            "between two of the five systems of table 1 their rank correlation is "
            "{correlation:.2f} on average, {least:.2f} to {most:.2f}, p {p:.1g}. All five had"
            " the same eight people of each; of those who are in VoxCeleb1-H, print and other"
            " trials of theirs have {systems}",
            systems=_joined(
                "{correlation:.2f} for {system}",
                " and ",
            ),
        ),
    ),
}
"""Every claim by its code, and the reason for its verdict."""
_NOTES = {
    "best_group_by_chance": SentenceTemplate(
        "The best group, of all, is the most favoured by chance as well"
    ),
    "table_2_implies_table_3": SentenceTemplate(
        "Computed from what table 2 prints; where 3 decimals leave a range, print lies in it"
    ),
    "eer_at_own_threshold": SentenceTemplate(
        "The group's EER is at its own threshold; with its cost at that of all trials, of "
        "which the paper says nothing, it may change sides for that alone"
    ),
    "no_german_men": SentenceTemplate(
        "m+Germany, the most favoured by cost, is no group of VoxCeleb1-H, and VoxCeleb1 has "
        "four such men in all"
    ),
    "computed_from_log_ratios": SentenceTemplate(
        "Computed from the printed log ratios. Authors: the logarithm without its minus"
    ),
    "p_of_each_figure": SentenceTemplate("p is of each figure by itself"),
    "hours_to_success": SentenceTemplate(
        "Hours are until an attacker has succeeded with the chance that 17 hours give at FPR "
        "0.001; no errors were counted where they are infinite"
    ),
    "chart_of_large_groups": SentenceTemplate(
        "Figures are over all groups, as the paper's; the chart is of those of enough people"
    ),
    "list_is_not_public": SentenceTemplate(
        "The paper's list, VoxCeleb1-I, is not public: the same on VoxCeleb1-H"
    ),
    "costs_over_blind_decision": SentenceTemplate(
        "Costs over that of the better blind decision, weights as in the challenges' plans"
    ),
    "groups_equalised": SentenceTemplate(
        "Equalised: one threshold, and each of 18 groups counts the same, as NIST averages"
    ),
    "r_precision": SentenceTemplate(
        "R-precision is 1 - EER where half of the trials are target trials, as nearly here"
    ),
    "no_cllr_of_these_scores": SentenceTemplate(
        "Cllr is left out, as these scores are no likelihood ratios"
    ),
    "shares_of_utterances": SentenceTemplate(
        "Printed shares of utterances are next to shares of trials; those of the utterances "
        "in the list differ from them by {difference:.2f} points at most",
        {"difference": 0.01},
    ),
    "column_of_test_list": SentenceTemplate(
        "The column of VoxCeleb1's test list is counted where --data has {file}; that of "
        "VoxCeleb1-E takes its list",
        {"file": "veri_test.txt"},
    ),
    "costs_as_authors_computed": SentenceTemplate(
        "Authors: a cost is that of the nearest point of a curve that is cut at its ends, "
        "rounded to 4 decimals before it is divided; threshold bias is a ratio of two such"
    ),
    "mexican_men_best_in_print": SentenceTemplate(
        "mexico_m is in print the best of all groups as its curve ends below the threshold"
    ),
    "divided_by_group": SentenceTemplate(
        "Authors: divided by the rates of {group}, not by the overall rates",
        {"group": "usa_m"},
    ),
    "two_distributions": SentenceTemplate(
        "Two of many such distributions: the paper does not say of which scores its own are"
    ),
    "curves_in_claim_5_1": SentenceTemplate(
        "Whether women's curves lie above that of everyone, and men's below it: claim 5.1"
    ),
    "p_of_each_group": SentenceTemplate("p is of each group by itself"),
    "women_and_men_in_one_panel": SentenceTemplate(
        "Curves of women and of men of a nationality share a panel, as in the paper"
    ),
    "distance_at_eer": SentenceTemplate(
        "Distance between curves is taken at the EER; no interval where people are too few"
    ),
    "half_widths_as_squares": SentenceTemplate(
        "Women and men share no trials here, so that half-widths add up as squares"
    ),
    "own_thresholds_same_trials": SentenceTemplate(
        "Rates at own thresholds are those of the trials that the thresholds were found on"
    ),
    "chart_of_1190_speakers": SentenceTemplate(
        "The chart is of the 1,190 of them who are in VoxCeleb1-H"
    ),
    "cross_fitted_over_speakers": SentenceTemplate(
        "On other speakers: cross-fitted over speakers; missing where a group has too few"
    ),
    "grade_4_alone": SentenceTemplate(
        "All nontarget trials are of grade 4 here: the list shows nothing about other grades"
    ),
    "counts_are_exact": SentenceTemplate(
        "Counts of a list are known exactly: there is nothing to be unsure of"
    ),
    "all_nontarget_pairs_are_hard": SentenceTemplate(
        "Pairs of different speakers are those of VoxCeleb1-H, which are all hard"
    ),
    "lists_of_utterances": SentenceTemplate(
        "Lists of the utterances of VoxCeleb1-H with n = {pairs}, seed {seed}",
        {"pairs": 500, "seed": 12},
    ),
    "checks_of_guidelines": SentenceTemplate(
        "G1 to G6 test the paper's six guidelines, which say what a list should have"
    ),
    "guideline_5_by_grades": SentenceTemplate(
        "G5, pairs as in real use, is tested against the grades of Algorithm 1: only pairs of"
        " grade 3 of the same speaker, and of grade 4 of two"
    ),
    "variation_in_figures": SentenceTemplate(
        "How results vary over lists drawn anew: figures 2 and 3"
    ),
    "lists_drawn_from_scored_pairs": SentenceTemplate(
        "Lists are drawn from the scored pairs of VoxCeleb1-H, of which a speaker has up to "
        "75 of either class: more would take embeddings. The sd of five lists is known but to"
        " within 0.6 to 2.9 times, if results are normal"
    ),
    "listing_in_parivox": SentenceTemplate(
        "As listed is --compat hutiri2022: both utterances of a nontarget pair are drawn with"
        " replacement (the listing says so of the speaker's own), a pair may come twice or "
        "reversed, a speaker needs more than n pairs, and is tested as often as chance has it"
    ),
    "listing_cannot_run": SentenceTemplate(
        "The listing itself cannot be run: the counter of its inner loop never advances (n "
        "pairs are taken side by side), it takes pairs of a speaker in both orders (here "
        "unordered ones), and its one seed would draw alike for everybody (here each speaker "
        "has a stream)"
    ),
    "inclusive_departs_further": SentenceTemplate(
        "Inclusive, the default, moves further from it: distinct pairs, each unordered one "
        "once in a list; partners and their utterances take turns; n pairs suffice; pairs are"
        " of one group in all attributes that define difficulty"
    ),
    "counts_from_percentages": SentenceTemplate(
        "Every printed percentage is a whole number of 2,208 trials, so that counts come back"
    ),
    "measures_not_printed": SentenceTemplate(
        "The measures, with alpha 0.5, are not printed at this threshold. IR of ResNetSE34V2 "
        "is undefined, as one nationality has no false negative"
    ),
    "fair_systems_simulated": SentenceTemplate(
        "Fair systems are simulated in this design: of the variance of the scores 25 % is the"
        " speaker's for target trials (45 % if they differ more), 6 % each speaker's and 10 %"
        " the pair's for nontarget trials. p is of each figure by itself"
    ),
    "terms_and_floors": SentenceTemplate(
        "Terms are next to their noise floors for these people at {operating_point}, with p "
        "of each by itself; `parivox criteria` reports the same for any audit with a sweep",
        {"operating_point": "fpr=0.001"},
    ),
    "no_interval_for_63_speakers": SentenceTemplate(
        "No interval is given for 63 speakers: eight a nationality or fewer are too few"
    ),
    "print_has_other_name": SentenceTemplate("Print has ResNetSEV2, read as ResNetSE34V2"),
    "threshold_of_pooled_eer": SentenceTemplate(
        "Rates are at the threshold of the pooled EER of each list"
    ),
    "intervals_over_nationalities": SentenceTemplate(
        "Intervals of rank correlations are over which nationalities, drawn with replacement"
    ),
    "two_public_systems": SentenceTemplate(
        "Of the paper's five systems two have public scores. VoxCeleb1-H has 22,063 trials "
        "between 63 of its 72 speakers, 648 of them on its list"
    ),
    # notes on figures
    "by_rounding": SentenceTemplate(
        "by rounding of table 2 between {low:.4f} and {high:.4f}", {"low": 0.8795, "high": 0.8801}
    ),
    "number_of_speakers": SentenceTemplate("{speakers} speakers", {"speakers": 11}),
    "errors_of_trials": SentenceTemplate(
        "{errors:,} of {trials:,} trials", {"errors": 12, "trials": 2208}
    ),
    "mean_of_fair_systems": SentenceTemplate(
        "fair systems show {mean:.2f} on average", {"mean": 0.31}
    ),
    "thresholds_without_errors": SentenceTemplate(
        "a group has no errors at {silent} of {thresholds} thresholds",
        {"silent": 12, "thresholds": 100},
    ),
    "check_passed": SentenceTemplate("the list passes the check"),
    "check_failed": SentenceTemplate("the list fails the check"),
    "not_checked": SentenceTemplate("not checked"),
}
"""Every note by its code."""


def _claim_sentences() -> dict[str, SentenceTemplate]:
    """Return templates of claims and of their reasons, which have the same values."""
    sentences = {}
    for code, (claim, reason) in _CLAIMS.items():
        example = EXAMPLES.get(code, {})
        sentences[code] = SentenceTemplate(_with_texts(claim), example)
        words = _with_texts(reason) if isinstance(reason, str) else reason
        sentences[f"{code}_reason"] = SentenceTemplate(words, example)
    return sentences


PAPER_SENTENCES = {**_claim_sentences(), **_NOTES}
"""Every sentence by its code."""
