"""Reading: files of any kind become trial sets, tables of people, and groups.

==================  ================================================================
`content`           bytes: hashed, unpacked, in UTF-8
`formats`           the format of a file, and a reader each; `columns` by their roles
`cells`             labels, scores, decisions, failures as numbers
`ids`               ids as numbers, in order; `spill`: rows that do not fit into memory
`trials`            scores and a trial list become a `trialset`: `trial_rows`, whose
                    speakers, then `checks`; `notes` says what was set aside
`people`            tables of speakers; `recordings`
`joining`           whose an utterance is; why ids of two files do not fit
`attributes`        ``enrol.language``, ``same:device``, ``age:18,60``
`groups`            what is grouped by, as a `grouping`; `groups_file`
`counts_file`       counts in the place of single trials
`inspection`        what files hold, before any audit
`table`             result tables
==================  ================================================================
"""
