"""Read files of any kind: trials, speakers and groups as numbers that the other rooms count.

Entry functions: `trials.read_trials` (scores and a trial list become a `TrialSet`),
`speakers.read_speakers`, `requested_groupings.make_groupings`, and `inspection` (what files hold,
before any audit). `auditing` calls them for every audit; `trials`, `decide`, `share`, `scoring`
and `monitoring` read the same files with them. `lists` describes and checks a trial list.

Central types: `trial_set.TrialSet`, its partitions `trial_checks.Trials`, `grouping.Grouping`,
`speakers.Speakers` and, for results, `table.Table`.

=========================  =========================================================
`source_bytes`             bytes of a file: hashed, unpacked, in UTF-8; `encodings`
`formats`                  the format of a file and its reader; `columns` by role
`trial_values`             labels, scores, decisions and failures as numbers
`ids`                      ids as numbers, in order
`trial_shards`             rows of a list in memory, or in shards on disk
`trials`                   the steps from files to a `trial_set`
`trial_rows`               rows as they are read; `trial_checks` puts them in order
`trial_notes`              what was excluded, and contradictions as errors
`speakers`                 tables of speakers; `recordings`; `kaldi` folders
`joining`                  the speaker of an utterance; why ids of files do not match
`recording_names`          which utterances are of one recording
`attributes`               ``enrol.language``, ``same:device``, ``age:18,60``
`requested_groupings`      requested attributes become a `grouping`; `groups_file`
`value_warnings`           unusual values and scores; `attribute_warnings`
`counts_file`              score counts and speaker counts as files; `counts_file_v1`
`count_rows`               rows of score counts and their sum; `metadata` of both files
`speaker_counts`           trials added up by class, units of both sides, groups and step
`units`                    the unit of each speaker: itself, or a block of speakers
`score_bins`               where scores are counted; `score_extent`
`rule_file`                thresholds by group; `site_key`: pseudonyms of speakers
`table`                    result tables
=========================  =========================================================
"""
