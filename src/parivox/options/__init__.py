"""Every option once: name, type, default, check, description.

Commands, the signatures of the library, the record of an audit and the docs read the same
description, so an option is added in two places: here, and in the function that uses it.

Entry function: `parivox.options.kinds.CommandOptions.from_keywords`, which checks what a caller of
the library gave. The command line builds its parser from
`parivox.options.kinds.options_by_section`.

Central types:

* `parivox.options.kinds.Option`: the description of one option; its subclasses are the kinds of
  values (`~parivox.options.kinds.Flag`, `~parivox.options.kinds.Text`,
  `~parivox.options.kinds.Number`, ...);
* `parivox.options.kinds.CommandOptions`: the checked options of one command. Its subclasses are in
  the modules named for the commands: ``audit`` (also `count`, `inspect`, `report` and `show`),
  ``decide`` (`thresholds` and `calibrate`), ``gate`` (also `compare`), ``metrics``, ``monitor``,
  ``papers``, ``plan``, ``recordings`` (`embed`, `score` and `systems`), ``shards`` and ``trials``;
* `parivox.options.limits.Limit`: the maximum of a rate, parsed.

``types`` is generated: types of options that signatures do not name, for editors.

Callers: every product reads its own options; ``cli`` makes parsers of them; ``report`` writes the
command that repeats an audit. This room knows only `parivox.errors`, `parivox.frozen` and types of
``core`` and ``runtime``.
"""
