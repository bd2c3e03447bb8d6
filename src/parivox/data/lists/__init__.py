"""What a trial list holds: its trials by pair of speakers, their grades, and how it was designed.

`trial_list.read_list` makes a `TrialList` of files, `trial_list.new_trial_list` of trials that were
read; `list_counts.count_list` adds up its trials by pair of speakers, and `guidelines` judges the
sums. `grades.with_grades` lets an audit group trials by how difficult they are, and
`manifest.ManifestDesign` says what a list was designed to contain. Nothing here builds a list or
writes one: `parivox.trials` does.
"""
