"""Pure arithmetic below the waist: counts, curves, base metrics, bias and meta-measures.

Nothing here knows files, tables or names. Every array ends in the axis that a function works
on (``value``, ``threshold`` or ``group``); axes before it are free.
"""
