"""Decide what to do about a finding: decisions that are made on some speakers and judged on others.

This room takes audits and scores and answers five questions, each with one function:

* `gate`: does an audit keep a policy? (`release_gate`, which reads a `Policy` by `policy_file`)
* `compare`: which of two releases is better, for whom? (`releases`)
* `plan`: how many speakers and trials does an audit need? (`sample_size_plan`, from the groups of a
  pilot, which `pilot_audit` reads)
* `thresholds`: would thresholds of groups help? (`threshold_selection`)
* `calibrate`: would calibrators of groups help? (`calibration`; `calibrated_scores` applies a
  calibrator, and `calibrator_file` reads and writes one)

The last two share how they avoid judging on the trials that they were fitted on. Speakers are dealt
into folds; every trial is judged by what was fitted without the folds of both of its speakers
(docs/methods/gates.md#cross-fitting). Central types:

* `fitting_trials.FittingTrials`: the trials of one system with the folds of their speakers;
* `threshold_aims.ThresholdAim`: what a threshold is to reach;
* `threshold_fitting.FittedThresholds`: the thresholds of every rule without some folds;
* `rule_judgement.RuleEstimates` and `RuleJudgements`: what rules come to on held-out speakers;
* `calibration.CrossFitRatios`: log likelihood ratios by calibrators of other speakers;
* `calibrator_file.Calibrator`: the calibrators that are written and applied;
* `policy_file.Condition` and `Acceptance`: what a release must keep, and what may stay open;
* `releases.ReleaseRate`: a rate of one release, with what pairs it with that of another;
* `pilot_audit.PilotGroups`: what a plan takes from a pilot.

Results are `Gate`, `Comparison`, `Plan`, `Thresholds` and `Calibration`: tables, and a record of
the options and inputs. `parivox` offers the functions and results by name, `parivox.cli` calls the
functions, and `parivox.report` shows the results. This room reads audits and trials through the
public names of `parivox.auditing`.
"""
