"""From embeddings, or a system that verifies, and a list of trials to scores.

* `parivox.score` (``run.py``) scores a list with embeddings and writes one row a trial;
* `parivox.score_all_pairs` (``all_pairs_counts.py``) scores every pair of recordings in tiles and
  keeps counts alone, as an audit takes them;
* `score_with_system` (``verifying.py``) has a system enrol and verify.

Central types:

* `Vectors`: embeddings by recording; `VectorComparison`: how two of them become a score;
* `ScoringMethod`: a comparison with its mean and its cohort (AS-norm, S-norm); `Scorer`: the same
  with what it keeps of each recording;
* `ResumableFile`: a file in parts, which an interrupted run finds again.

Called by the command line and from Python. Scores are the same to the last bit whatever else is
scored in the same run: each pair is an inner product of its own.
"""
