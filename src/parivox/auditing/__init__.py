"""The audit: trials in, tidy tables of every measure with its uncertainty out.

`audit` (``run.py``) is the way in, and its body reads like its pipeline::

    files -> trials -> cells -> counts per cell and score -> operating points
          -> errors by speaker -> base metrics of data and draws -> bias, meta-measures, verdicts
          -> tables and a record: one `Audit`

Central types:

* `AuditOptions`: what was asked, described once in ``parivox.options.audit``;
* `Layout`: which cells a trial counts in;
* `TrialCounts` and `SpeakerCounts`: trials added up by score, and by the speakers who take part in
  them; parts of a list add up to the whole;
* `Estimates`: base metrics of every cell, of the data and of each draw of speakers;
* `Audit`: the tables, and the folder that later versions read.

Called by the command line, and by the rooms that decide, monitor, share, score and report. They
use the names below and nothing else of this room; this room imports ``core``, ``data``, ``options``
and ``runtime``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.lazy import lazy_names

if TYPE_CHECKING:
    from parivox.auditing.attacks import ATTACK_DEPENDENT as ATTACK_DEPENDENT
    from parivox.auditing.attacks import EQUAL_WEIGHT as EQUAL_WEIGHT
    from parivox.auditing.attacks import MAX_SHARE_DIFFERENCE as MAX_SHARE_DIFFERENCE
    from parivox.auditing.cell_counts import group_counts as group_counts
    from parivox.auditing.counts.counting import (
        count as count,
    )
    from parivox.auditing.counts.counting import (
        count_trials as count_trials,
    )
    from parivox.auditing.counts.merging import (
        counts_with_groupings as counts_with_groupings,
    )
    from parivox.auditing.counts.merging import (
        read_counts_files as read_counts_files,
    )
    from parivox.auditing.counts.trial_counts import (
        COUNTED_AT as COUNTED_AT,
    )
    from parivox.auditing.counts.trial_counts import (
        FILES_OF_COUNTS as FILES_OF_COUNTS,
    )
    from parivox.auditing.counts.trial_counts import (
        GROUP_WITHHELD as GROUP_WITHHELD,
    )
    from parivox.auditing.counts.trial_counts import (
        NOT_IN_COUNTS as NOT_IN_COUNTS,
    )
    from parivox.auditing.counts.trial_counts import (
        STRATUM_WITHHELD as STRATUM_WITHHELD,
    )
    from parivox.auditing.counts.trial_counts import (
        TrialCounts as TrialCounts,
    )
    from parivox.auditing.curves import MAX_BAND_THRESHOLDS as MAX_BAND_THRESHOLDS
    from parivox.auditing.curves import MAX_PAIR_THRESHOLDS as MAX_PAIR_THRESHOLDS
    from parivox.auditing.curves import THINNING as THINNING
    from parivox.auditing.data_table import (
        AT_DEPLOYED_THRESHOLD as AT_DEPLOYED_THRESHOLD,
    )
    from parivox.auditing.data_table import (
        POINT_WARNINGS as POINT_WARNINGS,
    )
    from parivox.auditing.data_table import (
        SPEAKERS_OF_UNKNOWN_GROUP as SPEAKERS_OF_UNKNOWN_GROUP,
    )
    from parivox.auditing.data_table import (
        TRIALS_OF_UNKNOWN_GROUP as TRIALS_OF_UNKNOWN_GROUP,
    )
    from parivox.auditing.data_table import (
        WITH_CONFLICTS as WITH_CONFLICTS,
    )
    from parivox.auditing.data_table import (
        WITHOUT_CONFLICTS as WITHOUT_CONFLICTS,
    )
    from parivox.auditing.data_table import (
        WITHOUT_TRIALS as WITHOUT_TRIALS,
    )
    from parivox.auditing.fairness_criteria import (
        Criteria as Criteria,
    )
    from parivox.auditing.fairness_criteria import (
        criteria as criteria,
    )
    from parivox.auditing.folder import (
        check_folder as check_folder,
    )
    from parivox.auditing.folder import (
        check_format as check_format,
    )
    from parivox.auditing.inputs import (
        FilesByStem as FilesByStem,
    )
    from parivox.auditing.inputs import (
        GroupedTrials as GroupedTrials,
    )
    from parivox.auditing.inputs import (
        apply_groups_file as apply_groups_file,
    )
    from parivox.auditing.inputs import (
        read_grouped_trials as read_grouped_trials,
    )
    from parivox.auditing.inputs import (
        read_one_system as read_one_system,
    )
    from parivox.auditing.inputs import (
        requested_attributes as requested_attributes,
    )
    from parivox.auditing.inputs import (
        sources_by_name as sources_by_name,
    )
    from parivox.auditing.inputs import (
        split_name as split_name,
    )
    from parivox.auditing.inspection import (
        audit_warnings as audit_warnings,
    )
    from parivox.auditing.inspection import (
        can_be_audited as can_be_audited,
    )
    from parivox.auditing.inspection import (
        inspect as inspect,
    )
    from parivox.auditing.limits import (
        NO_FAILURES_GIVEN as NO_FAILURES_GIVEN,
    )
    from parivox.auditing.limits import (
        failing_findings as failing_findings,
    )
    from parivox.auditing.missing_scores import (
        MISSING_SCORES as MISSING_SCORES,
    )
    from parivox.auditing.missing_scores import (
        MISSING_TARGETS as MISSING_TARGETS,
    )
    from parivox.auditing.operating_points import (
        DEPLOYED as DEPLOYED,
    )
    from parivox.auditing.operating_points import (
        DEVELOPMENT_TRIALS as DEVELOPMENT_TRIALS,
    )
    from parivox.auditing.operating_points import (
        NO_SCORES as NO_SCORES,
    )
    from parivox.auditing.operating_points import (
        NO_TRIALS as NO_TRIALS,
    )
    from parivox.auditing.operating_points import (
        SAME_TRIALS as SAME_TRIALS,
    )
    from parivox.auditing.operating_points import (
        OperatingPoint as OperatingPoint,
    )
    from parivox.auditing.operating_points import (
        is_far_from_target as is_far_from_target,
    )
    from parivox.auditing.operating_points import (
        missing_class_reason as missing_class_reason,
    )
    from parivox.auditing.operating_points import (
        parse_point as parse_point,
    )
    from parivox.auditing.options import (
        Options as Options,
    )
    from parivox.auditing.options import (
        parse_minimums as parse_minimums,
    )
    from parivox.auditing.outcomes import ATTEMPTS as ATTEMPTS
    from parivox.auditing.pairing import correlation as correlation
    from parivox.auditing.private import (
        CHOICE_ROLES as CHOICE_ROLES,
    )
    from parivox.auditing.private import (
        PRIVATE as PRIVATE,
    )
    from parivox.auditing.private import (
        are_comparable as are_comparable,
    )
    from parivox.auditing.result import (
        Audit as Audit,
    )
    from parivox.auditing.result import (
        check_verification as check_verification,
    )
    from parivox.auditing.result import (
        load as load,
    )
    from parivox.auditing.result import (
        loaded_audit as loaded_audit,
    )
    from parivox.auditing.result import (
        system_name as system_name,
    )
    from parivox.auditing.run import (
        audit as audit,
    )
    from parivox.auditing.run import (
        audit_counted as audit_counted,
    )
    from parivox.auditing.run import (
        speaker_count_thresholds as speaker_count_thresholds,
    )
    from parivox.auditing.schema import CASCADE_SOURCE as CASCADE_SOURCE
    from parivox.auditing.schema import (
        CROSSED_GALLERIES as CROSSED_GALLERIES,
    )
    from parivox.auditing.schema import (
        CURVES as CURVES,
    )
    from parivox.auditing.schema import (
        FEW_PROBE_SPEAKERS as FEW_PROBE_SPEAKERS,
    )
    from parivox.auditing.schema import IS_REFERENCE as IS_REFERENCE
    from parivox.auditing.schema import LIMITS as LIMITS
    from parivox.auditing.schema import PAIRS_BELOW_MINIMUM as PAIRS_BELOW_MINIMUM
    from parivox.auditing.schema import REJECTED_FIRST as REJECTED_FIRST
    from parivox.auditing.schema import REJECTED_SECOND as REJECTED_SECOND
    from parivox.auditing.schema import SPEAKERS_BELOW_MINIMUM as SPEAKERS_BELOW_MINIMUM
    from parivox.auditing.schema import (
        TABLES as TABLES,
    )
    from parivox.auditing.schema import THRESHOLD_VARIES as THRESHOLD_VARIES
    from parivox.auditing.schema import WITHOUT_FIRST_SCORE as WITHOUT_FIRST_SCORE
    from parivox.auditing.schema import (
        TableBuilder as TableBuilder,
    )
    from parivox.auditing.speaker_counts import (
        count_by_speaker as count_by_speaker,
    )
    from parivox.auditing.system import check_polarity as check_polarity
    from parivox.auditing.system_uncertainty import MAX_EXACT_TRIALS as MAX_EXACT_TRIALS
    from parivox.auditing.tandem import TANDEM_ITEMS as TANDEM_ITEMS
    from parivox.auditing.verdicts import BELOW_MINIMUM as BELOW_MINIMUM

_HOMES = {
    "parivox.auditing.attacks": ("ATTACK_DEPENDENT", "EQUAL_WEIGHT", "MAX_SHARE_DIFFERENCE"),
    "parivox.auditing.cell_counts": ("group_counts",),
    "parivox.auditing.counts.counting": ("count", "count_trials"),
    "parivox.auditing.counts.merging": ("counts_with_groupings", "read_counts_files"),
    "parivox.auditing.counts.trial_counts": (
        "COUNTED_AT",
        "FILES_OF_COUNTS",
        "GROUP_WITHHELD",
        "NOT_IN_COUNTS",
        "STRATUM_WITHHELD",
        "TrialCounts",
    ),
    "parivox.auditing.curves": ("MAX_BAND_THRESHOLDS", "MAX_PAIR_THRESHOLDS", "THINNING"),
    "parivox.auditing.data_table": (
        "AT_DEPLOYED_THRESHOLD",
        "POINT_WARNINGS",
        "SPEAKERS_OF_UNKNOWN_GROUP",
        "TRIALS_OF_UNKNOWN_GROUP",
        "WITH_CONFLICTS",
        "WITHOUT_CONFLICTS",
        "WITHOUT_TRIALS",
    ),
    "parivox.auditing.fairness_criteria": ("Criteria", "criteria"),
    "parivox.auditing.folder": ("check_folder", "check_format"),
    "parivox.auditing.inputs": (
        "GroupedTrials",
        "requested_attributes",
        "FilesByStem",
        "sources_by_name",
        "read_grouped_trials",
        "read_one_system",
        "apply_groups_file",
        "split_name",
    ),
    "parivox.auditing.inspection": ("can_be_audited", "inspect", "audit_warnings"),
    "parivox.auditing.limits": ("NO_FAILURES_GIVEN", "failing_findings"),
    "parivox.auditing.missing_scores": ("MISSING_SCORES", "MISSING_TARGETS"),
    "parivox.auditing.operating_points": (
        "DEPLOYED",
        "DEVELOPMENT_TRIALS",
        "SAME_TRIALS",
        "NO_SCORES",
        "NO_TRIALS",
        "OperatingPoint",
        "is_far_from_target",
        "missing_class_reason",
        "parse_point",
    ),
    "parivox.auditing.options": ("Options", "parse_minimums"),
    "parivox.auditing.outcomes": ("ATTEMPTS",),
    "parivox.auditing.pairing": ("correlation",),
    "parivox.auditing.private": ("CHOICE_ROLES", "PRIVATE", "are_comparable"),
    "parivox.auditing.result": (
        "Audit",
        "check_verification",
        "loaded_audit",
        "load",
        "system_name",
    ),
    "parivox.auditing.run": ("audit", "audit_counted", "speaker_count_thresholds"),
    "parivox.auditing.schema": (
        "LIMITS",
        "IS_REFERENCE",
        "SPEAKERS_BELOW_MINIMUM",
        "PAIRS_BELOW_MINIMUM",
        "THRESHOLD_VARIES",
        "CASCADE_SOURCE",
        "WITHOUT_FIRST_SCORE",
        "REJECTED_FIRST",
        "REJECTED_SECOND",
        "CROSSED_GALLERIES",
        "CURVES",
        "FEW_PROBE_SPEAKERS",
        "TableBuilder",
        "TABLES",
    ),
    "parivox.auditing.speaker_counts": ("count_by_speaker",),
    "parivox.auditing.system_uncertainty": ("MAX_EXACT_TRIALS",),
    "parivox.auditing.system": ("check_polarity",),
    "parivox.auditing.tandem": ("TANDEM_ITEMS",),
    "parivox.auditing.verdicts": ("BELOW_MINIMUM",),
}


__getattr__, __dir__ = lazy_names("parivox.auditing", _HOMES)
