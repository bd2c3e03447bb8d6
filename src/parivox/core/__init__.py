"""Pure arithmetic below the waist: counts, curves, base metrics, bias and meta-measures.

Nothing here knows files, tables or names. Every array ends in the axis that a function works
on (``value``, ``threshold`` or ``group``); axes before it are free.

* `counts.Counts` and `counts.Curve`: trials by score, and errors by threshold;
* `cluster_errors.ErrorsBySpeaker` and `ErrorsByPair`: errors and trials by who takes part in them,
  `Moments` what their variance is made of;
* `intervals.Interval`, `resampling.BootstrapInterval`: how sure a number is;
* `registry.Measure`: what every base metric, bias measure and meta-measure has in common.
"""
