"""The page docs/coverage.md, written from the files in results/, so that figures cannot drift."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.coverage import findings, published
from benchmarks.coverage.records import Row, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"
NONE = "–"
METHOD_NAMES = {
    "trials": "trials",
    "bootstrap": "bootstrap",
    "speakers": "**speakers**",
    "pooled floor": "pooled floor",
}
KINDS = {"fnr": "FNR", "fpr": "FPR"}


def write(path: Path = PAGE) -> None:
    """Write the page from what is kept."""
    path.write_text(render(read()), encoding="utf-8")


def line(row: Row) -> str:
    """Return a row for the terminal."""
    left_out = {"cell", "about", "minutes"}
    return ", ".join(f"{name} {value}" for name, value in row.items() if name not in left_out)


def render(results: dict[str, list[Row]]) -> str:
    """Return the page as Markdown."""
    text = TEMPLATE
    for name, table in TABLES.items():
        text = text.replace(f"<<{name}>>", "\n".join(table(results)))
    return text


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    body = [f"| {' | '.join(row)} |" for row in rows]
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(body or ["Not yet run."])]


def _share(value: float | None, error: float | None = None, places: int = 3) -> str:
    """Return `.941 ± .005`."""
    if value is None:
        return NONE
    text = f"{value:.{places}f}".removeprefix("0")
    return text if error is None else f"{text} ± {f'{error:.{places}f}'.removeprefix('0')}"


def _percent(rate: float) -> str:
    return f"{100 * rate:.3g} %"


def _theirs(row: Row, figure: float | None, datasets: int, name: str = "coverage") -> str:
    """Return the figure to meet, starred if it differs by more than two Monte Carlo errors."""
    if figure is None or row[name] is None:
        return NONE
    places = 2 if row["method"] == "trials" else 3
    apart = published.differs(row[name], row[f"{name}_error"], figure, datasets, places)
    return _share(figure, places=places) + ("\\*" if apart else "")


def _rows(results: dict[str, list[Row]], study: str, **where: Any) -> list[Row]:
    return [
        row
        for row in results.get(study, [])
        if all(row.get(name) == value for name, value in where.items())
    ]


def _rates(results: dict[str, list[Row]], kind: str) -> list[str]:
    datasets = published.FNR_DATASETS if kind == "fnr" else published.FPR_DATASETS
    lines = []
    for row in _rows(results, "rates", kind=kind, level=0.95):
        key = (kind, row["speakers"], row["shape"], row["rate"], row["method"])
        width = published.WIDTH.get(key)
        lines.append(
            (
                f"{row['speakers']}" + ("" if row["shape"] == "even" else f", {row['shape']}"),
                _percent(row["rate"]),
                METHOD_NAMES[row["method"]],
                _share(row["coverage"], row["coverage_error"]),
                _theirs(row, published.COVERAGE.get(key), datasets),
                f"{row['below']:.3f} / {row['above']:.3f}",
                NONE if row["log_width"] is None else f"{row['log_width']:.2f}",
                NONE if width is None else f"{width:.2f}",
            )
        )
    order = list(METHOD_NAMES.values())
    lines.sort(key=lambda cells: order.index(cells[2]))
    lines.sort(
        key=lambda cells: (
            "," in cells[0],
            cells[0].split(",")[1:],
            int(cells[0].split(",")[0]),
            -float(cells[1][:-2]),
        )
    )
    head = ("speakers", "rate", "method", "coverage", "to meet", "truth below / above")
    return _table((*head, "log width", "to meet"), lines)


def _levels(results: dict[str, list[Row]]) -> list[str]:
    lines = []
    for row in _rows(results, "rates", method="speakers", level=0.90):
        found = [row, *_rows(results, "rates", cell=row["cell"], method="speakers", level=0.99)]
        floor = [
            *_rows(results, "rates", cell=row["cell"], method="pooled floor", level=0.90),
            *_rows(results, "rates", cell=row["cell"], method="pooled floor", level=0.99),
        ]
        cells = [_share(each["coverage"], each["coverage_error"]) for each in (*found, *floor)]
        lines.append(
            (
                KINDS[row["kind"]],
                f"{row['speakers']}" + ("" if row["shape"] == "even" else f", {row['shape']}"),
                _percent(row["rate"]),
                *cells,
                *[NONE] * (4 - len(cells)),
            )
        )
    head = ("error", "speakers", "rate", "90 %", "99 %", "pooled floor, 90 %", "99 %")
    return _table(head, lines)


def _ratios(results: dict[str, list[Row]]) -> list[str]:
    lines = []
    for row in _rows(results, "ratios", method="speakers", level=0.95):
        if "other" not in row:
            continue
        key = (row["kind"], row["one"], row["other"], row["rate"])
        datasets = published.FNR_DATASETS if row["kind"] == "fnr" else published.FPR_DATASETS
        rest = [
            _rows(results, "ratios", cell=row["cell"], method="speakers", level=level)[0]
            for level in (0.90, 0.99)
        ]
        lines.append(
            (
                KINDS[row["kind"]],
                f"{row['one']} against {row['other']}",
                _percent(row["rate"]),
                _share(row["coverage"], row["coverage_error"]),
                _theirs(row, published.RATIOS.get(key), datasets),
                f"{row['log_width']:.2f}",
                *(_share(each["coverage"], each["coverage_error"]) for each in rest),
            )
        )
    head = ("error", "speakers", "rate", "95 %", "to meet", "log width", "90 %", "99 %")
    return _table(head, lines)


def _enrolled(results: dict[str, list[Row]]) -> list[str]:
    lines = []
    for row in _rows(results, "ratios", level=0.95):
        if "other" in row:
            continue
        rest = [
            next(
                other
                for other in _rows(results, "ratios", cell=row["cell"], level=level)
                if (other["one"], other["method"]) == (row["one"], row["method"])
            )
            for level in (0.90, 0.99)
        ]
        lines.append(
            (
                f"{row['one']}",
                _percent(row["rate"]),
                {"speakers": "rate, closed form"}.get(row["method"], "ratio, joint bootstrap"),
                _share(row["coverage"], row["coverage_error"]),
                f"{row['log_width']:.2f}",
                *(_share(each["coverage"], each["coverage_error"]) for each in rest),
                _share(row["undefined"], places=2),
            )
        )
    head = ("speakers who enrol", "rate", "interval of", "95 %", "log width", "90 %", "99 %")
    return _table((*head, "none"), lines)


def _real(results: dict[str, list[Row]]) -> list[str]:
    lines = []
    for row in _rows(results, "real", method="speakers", level=0.95):
        key = (row["group"], row["kind"], row["speakers"], row["rate"])
        (naive,) = _rows(results, "real", cell=row["cell"], method="trials")
        lines.append(
            (
                f"{row['group']}",
                KINDS[row["kind"]],
                f"{row['speakers']} of {row['of']}",
                _percent(row["true_rate"]),
                _share(naive["coverage"]),
                _share(row["coverage"], row["coverage_error"]),
                _theirs(row, published.REAL.get(key), published.FNR_DATASETS),
                f"{row['log_width']:.2f}",
            )
        )
    head = ("group", "error", "speakers", "rate", "trials", "**speakers**", "to meet", "log width")
    return _table(head, lines)


def _curves(results: dict[str, list[Row]]) -> list[str]:
    lines = []
    for row in _rows(results, "curves", level=0.95):
        rest = [
            next(
                other
                for other in _rows(results, "curves", cell=row["cell"], level=level)
                if (other["metric"], other["method"]) == (row["metric"], row["method"])
            )
            for level in (0.90, 0.99)
        ]
        lines.append(
            (
                row["metric"],
                f"{row['speakers']}",
                _percent(row["rate"]),
                _share(row["coverage"], row["coverage_error"]),
                f"{row['below']:.3f} / {row['above']:.3f}",
                f"{row['log_width']:.2f}",
                *(_share(each["coverage"], each["coverage_error"]) for each in rest),
                _share(row["undefined"], places=2),
            )
        )
    lines.sort(key=lambda cells: cells[0])
    head = ("metric", "speakers", "EER", "95 %", "truth below / above", "log width", "90 %", "99 %")
    return _table((*head, "none"), lines)


def _thresholds(results: dict[str, list[Row]]) -> list[str]:
    lines = []
    for row in _rows(results, "thresholds", method="found again"):
        of = {name: row[name] for name in ("cell", "point")}
        (stays,) = _rows(results, "thresholds", method="as it is", **of)
        lines.append(
            (
                row["speakers"],
                _percent(row["rate"]),
                row["point"],
                f"{KINDS[row['kind']]}, {_percent(row['true'])}",
                *(
                    cell
                    for one in (stays, row)
                    for cell in (
                        _share(one["coverage"], one["coverage_error"]),
                        f"{one['log_width']:.2f}",
                    )
                ),
                f"{row['below']:.3f} / {row['above']:.3f}",
            )
        )
    lines.sort(key=lambda cells: cells[0].isdigit())
    head = ("speakers", "EER", "point", "true rate", "as it is", "log width")
    return _table((*head, "**found again**", "log width", "truth below / above"), lines)


def _null(results: dict[str, list[Row]], *, fair: bool) -> list[str]:
    measures = ("Gini", "max/min", "max - min", "sd of log")
    lines = []
    cells = dict.fromkeys(
        (row["cell"], row["method"])
        for row in results.get("floors", [])
        if "rejected" in row and ("doubled" in row["design"]) != fair and row["measure"] == "Gini"
    )
    for cell, method in cells:
        rows = {row["measure"]: row for row in _rows(results, "floors", cell=cell, method=method)}
        first = rows["Gini"]
        key = (first["design"], first["kind"], first["rate"], method)
        gini = {**first, "method": method}
        theirs = _theirs(gini, published.GINI.get(key), published.FLOOR_DATASETS, "rejected")
        lines.append(
            (
                first["design"],
                KINDS[first["kind"]],
                _percent(first["rate"]),
                method,
                _share(first["rejected"], first["rejected_error"]),
                *([theirs] if fair else []),
                *(_share(rows[measure]["rejected"]) for measure in measures[1:]),
                _share(first["refused"], places=2),
            )
        )
    head = ["design", "error", "rate", "null draws", "Gini", "to meet", *measures[1:], "no p"]
    if not fair:
        head.remove("to meet")
    return _table(head, lines)


def _single(results: dict[str, list[Row]]) -> list[str]:
    lines = []
    for row in _rows(results, "floors", measure="first group"):
        same = {"cell": row["cell"], "method": row["method"]}
        (rest,) = _rows(results, "floors", measure="other groups", **same)
        lines.append(
            (
                row["design"],
                KINDS[row["kind"]],
                _percent(row["rate"]),
                "pooled floor" if row["method"].endswith("floor") else "**speakers**",
                _share(row["rejected"], row["rejected_error"]),
                _share(rest["rejected"], rest["rejected_error"]),
                _share(rest["refused"], places=2),
            )
        )
    head = ("design", "error", "rate", "interval", "first group", "other groups", "no p")
    return _table(head, lines)


def _joint(results: dict[str, list[Row]]) -> list[str]:
    lines = [
        (
            row["design"],
            _percent(row["rate"]),
            row["measure"],
            _share(row["rejected"], row["rejected_error"]),
            _share(row["refused"], places=2),
        )
        for row in _rows(results, "floors", kind="both")
    ]
    return _table(("design", "FPR = FNR", "measure", "rejected", "no p"), lines)


def _floors(results: dict[str, list[Row]]) -> list[str]:
    lines = []
    for row in _rows(results, "floors", design="floor"):
        mean, cut = published.FLOORS[row["kind"], row["rate"], row["method"]]
        lines.append(
            (
                KINDS[row["kind"]],
                _percent(row["rate"]),
                row["method"],
                _share(row["mean"], row["mean_error"]),
                _share(mean),
                _share(row["q95"], row["q95_error"]),
                _share(cut),
            )
        )
    head = ("error", "rate", "by", "mean", "to meet", "95 % quantile", "to meet")
    return _table(head, lines)


def _spread(results: dict[str, list[Row]]) -> list[str]:
    lines = [
        (
            f"{row['groups']} x {row['speakers']}",
            KINDS[row["kind"]],
            f"{row['spread']:g}",
            _share(row["coverage"], row["coverage_error"]),
            _share(row["below"]),
            _share(row["above"]),
            f"{row['value']:.2f}",
            f"{row['width']:.2f}",
        )
        for row in _rows(results, "spread")
    ]
    head = ("groups x speakers", "error", "true", "held", "below it", "above it", "mean", "width")
    return _table(head, lines)


def _heterogeneity(results: dict[str, list[Row]], *, fair: bool) -> list[str]:
    found: dict[tuple[str, str, float], dict[str, str]] = {}
    for row in _rows(results, "heterogeneity", fair=fair):
        if row["kind"] == "both":
            continue
        of_design = found.setdefault((row["design"], row["kind"], row["rate"]), {})
        of_design[row["measure"]] = _share(row["rejected"], row["rejected_error"])
    measures = ("heterogeneity", "plainly", "Gini", "tau_log")
    lines = [
        (design, KINDS[kind], _percent(rate), *(shares.get(name, NONE) for name in measures))
        for (design, kind, rate), shares in found.items()
    ]
    return _table(("design", "error", "rate", *measures), lines)


def _better(results: dict[str, list[Row]]) -> list[str]:
    lines = [
        (
            row["design"],
            KINDS[row["kind"]],
            _percent(row["rate"]),
            row["unlike"],
            *(
                NONE if row[name] is None else _share(row[name], row[f"{name}_error"])
                for who in ("equal", "own")
                for name in (f"{who}_better", f"{who}_plainly", f"{who}_worse")
            ),
        )
        for row in _rows(results, "better")
    ]
    head = ("groups", "error", "rate", "one is", "an equal one better", "plainly", "worse")
    return _table((*head, "that one better", "plainly", "worse"), lines)


def _mitigation(results: dict[str, list[Row]]) -> list[str]:
    lines = [
        (
            *(row["system"], row["aim"], f"{row['shift']:g}", row["rule"], row["measure"]),
            _share(row["told_apart"], row["told_apart_error"]),
            *(f"{row['true']:+.4f}", f"{row['found']:+.4f}", f"{row['wide']:.2f}"),
            _share(row["holds_0"]),
            _share(row["coverage"], row["coverage_error"]),
            f"{row['datasets']:,}",
        )
        for row in _rows(results, "mitigation")
    ]
    head = ("scores", "aim", "shift", "rule", "of", "told apart", "true", "found", "wide")
    return _table((*head, "holds 0", "coverage", "draws"), lines)


def _calibration_loss(results: dict[str, list[Row]]) -> list[str]:
    lines = [
        (
            *(row["command"], row["scores"], str(row["speakers"]), f"x {row['slope']:g}"),
            *(row["of"], f"{row['true']:.4f}", f"{row['plain']:.4f}", f"{row['found']:.4f}"),
            _share(row["holds_0"], row["holds_0_error"]),
            _share(row["coverage"], row["coverage_error"]),
        )
        for row in _rows(results, "calibration_loss")
    ]
    head = ("command", "scores", "speakers", "ratios", "of", "true", "Cllr - min", "corrected")
    return _table((*head, "**holds 0**", "coverage"), lines)


def _streams(results: dict[str, list[Row]]) -> list[str]:
    lines = [
        (
            *(row["speakers"], _percent(row["rate"]), f"{row['icc']:g}", f"{row['calls']:g}"),
            row["against"],
            f"{row['streams']:,}",
            _share(row["alarms"], row["alarms_error"]),
        )
        for row in _rows(results, "monitor")
        if "alarms" in row and "rate" in row
    ]
    head = ("speakers", "FNR", "correlation", "calls a day", "against", "streams")
    return _table((*head, "**ever an alarm**"), lines)


def _delays(results: dict[str, list[Row]]) -> list[str]:
    lines = [
        (
            row["speakers"],
            *(f"{row['margin']:g}", row["against"], _share(row["before"], row["before_error"])),
            _share(row["found"]),
            *(
                NONE if row.get(name) is None else f"{row[name]}"
                for name in ("delay_50", "delay_80", "once_50", "once_80")
            ),
        )
        for row in _rows(results, "monitor", times=2.0)
    ]
    head = ("speakers", "margin", "against", "alarm before", "alarm after", "days to 50 %")
    return _table((*head, "80 %", "one look, 50 %", "80 %"), lines)


def _replays(results: dict[str, list[Row]]) -> list[str]:
    lines = []
    for row in _rows(results, "monitor"):
        if "replay" in row and "days of" not in row["replay"]:
            name = "before" if "before" in row else "alarms"
            days = (f"{row[of]}" if row.get(of) else NONE for of in ("delay_50", "delay_80"))
            false = _share(row[name], row[f"{name}_error"])
            lines.append((row["replay"], row["against"], f"{row['streams']}", false, *days))
    head = ("decided by", "against", "streams", "**false alarm**", "days to 50 %", "80 %")
    return _table(head, lines)


def _varying_days(results: dict[str, list[Row]]) -> list[str]:
    lines = []
    for row in _rows(results, "monitor"):
        if "days of" in row.get("replay", ""):
            name = "before" if "before" in row else "alarms"
            false = _share(row[name], row[f"{name}_error"])
            varying = row.get("varying")
            judged = NONE if varying is None else _share(varying, row["varying_error"])
            days = f"{row['delay_50']}" if row.get("delay_50") else NONE
            found = _share(row["found"]) if "found" in row else NONE
            cells = (row["replay"], row["against"], f"{row['streams']}", false, judged)
            lines.append((*cells, found, days))
    head = ("decided by", "against", "streams", "**false alarm**", "not judged at the end")
    return _table((*head, "alarm after", "days to 50 %"), lines)


def _gates(results: dict[str, list[Row]]) -> list[str]:
    lines = [
        (
            *(row["system"], f"{row['times']:g}", f"{row.get('moved', 0):g}"),
            *(str(row["speakers"]), row["condition"]),
            _share(row["fails"], row["fails_error"]),
        )
        for row in _rows(results, "gate")
    ]
    head = ("scores", "one group is", "changed group", "speakers", "condition", "fails")
    return _table(head, lines)


def _warnings(results: dict[str, list[Row]]) -> list[str]:
    lines = [
        (
            row["fault"] or "none",
            row["system"],
            f"{row['trials']:,}",
            str(row["datasets"]),
            _share(row["warned"], row["warned_error"]),
        )
        for row in _rows(results, "data_warnings")
    ]
    return _table(("fault", "scores", "trials", "lists", "warned"), lines)


def _alike(results: dict[str, list[Row]]) -> list[str]:
    shares = ("within_95", "said", "within_99")
    lines = [
        (
            row["design"],
            KINDS[row["kind"]],
            _percent(row["rate"]),
            f"{row['times']:g}",
            f"{row['datasets']:,}",
            *(f"{_percent(row[name])} ± {100 * row[f'{name}_error']:.2g}" for name in shares),
        )
        for row in _rows(results, "alike")
    ]
    head = ("groups", "error", "rate", "one has, times", "data sets", "95 % within")
    return _table((*head, "**called alike**", "99 % within"), lines)


def _asked_together(results: dict[str, list[Row]]) -> list[str]:
    found: dict[str, dict[str, str]] = {}
    for row in _rows(results, "heterogeneity", kind="both"):
        share = _share(row["rejected"], row["rejected_error"])
        found.setdefault(row["design"], {})[row["asked"]] = share
    asked = ("which", "whether", "both at full", "both")
    lines = [(design, *(shares[one] for one in asked)) for design, shares in found.items()]
    return _table(
        ("design", "which differ", "whether any do", "both, each at .05", "as done"), lines
    )


def _best_guesses(results: dict[str, list[Row]]) -> list[str]:
    lines = [
        (
            row["design"],
            KINDS[row["kind"]],
            _percent(row["rate"]),
            f"{row['spread']:g}",
            ("yes" if row["adds_up"] else "no") if row["crossed"] and row["spread"] else NONE,
            f"{row['raw']:.2f}",
            f"**{row['guess']:.2f}**",
            _share(row["held"], row["held_error"]),
            _share(row["ratio"], row["ratio_error"]),
            _share(row["rejected"], row["rejected_error"]),
        )
        for row in _rows(results, "shrinkage", part="all")
    ]
    head = ("groups", "error", "rate", "spread", "adds up", "raw is off by", "best guess by")
    return _table((*head, "limits hold", "of ratios", "interaction p ≤ .05"), lines)


def _named(results: dict[str, list[Row]]) -> list[str]:
    lines = [
        (
            row["design"],
            KINDS[row["kind"]],
            _percent(row["rate"]),
            row["power"],
            f"{row['named']:.2f}",
            f"{row['raw']:.2f}",
            f"{row['guess']:.2f}",
        )
        for row in _rows(results, "shrinkage", part="named")
    ]
    head = (
        "groups",
        "error",
        "rate",
        "power",
        "named in a list",
        "raw / truth",
        "best guess / truth",
    )
    return _table(head, lines)


def _blocks(results: dict[str, list[Row]]) -> list[str]:
    """A line for each design: rates told from speakers, and from blocks of them."""
    found: dict[str, dict[str, Row]] = {}
    for row in _rows(results, "blocks"):
        if row["shape"] != "found again":
            found.setdefault(row["cell"], {})[row["method"]] = row
    lines = [
        (
            KINDS[of["blocks"]["kind"]],
            f"{of['blocks']['groups']}, {of['blocks']['shape']}",
            *(
                _share(row[name], row[f"{name}_error"])
                for name in ("coverage", "smallest_coverage")
                for row in (of["speakers"], of["blocks"])
            ),
            f"{of['blocks']['log_width'] / of['speakers']['log_width']:.2f}",
        )
        for of in found.values()
    ]
    head = ("error", "groups", "of all groups, by speakers", "by blocks")
    return _table((*head, "of the smallest, by speakers", "by blocks", "width"), lines)


def _blocks_found_again(results: dict[str, list[Row]]) -> list[str]:
    lines = [
        (
            f"{row['groups']}",
            row["method"],
            _share(row["coverage"], row["coverage_error"]),
            f"{row['below']:.3f} / {row['above']:.3f}",
            f"{row['log_width']:.3f}",
        )
        for row in _rows(results, "blocks", shape="found again")
    ]
    return _table(("groups", "threshold", "coverage", "truth below / above", "log width"), lines)


def _findings(results: dict[str, list[Row]]) -> list[str]:
    found: dict[str, list[Row]] = {}
    for row in findings.shares(results.get("findings", [])):
        found.setdefault(row["design"], []).append(row)
    lines = [
        (
            design,
            *(_share(row["said"], row["said_error"]) for row in rows),
            f"{rows[0]['datasets']}",
        )
        for design, rows in found.items()
    ]
    head = ("speakers of", "first grouping", "second", "both", "all, at two points", "and EERs")
    return _table((*head, "and whether attributes add up", "data sets"), lines)


def _plans(results: dict[str, list[Row]]) -> list[str]:
    lines = [
        (
            KINDS[row["kind"]],
            f"{_percent(row['own'])} against {_percent(row['rate'])}"
            + ("" if row["shape"] == "even" else f", {row['shape']}"),
            f"{row['speakers']} against {row['groups'] * row['speakers']}",
            f"{row['trials']}",
            f"{row['icc']:.2g}",
            _share(row["planned"]),
            _share(row["found"], row["found_error"]),
        )
        for row in _rows(results, "plans")
    ]
    head = ("error", "rates", "speakers", "trials each", "correlation", "planned", "found")
    return _table(head, lines)


# as the columns of a wide table name them, in their order
DESIGNS = {
    "9 x 8": "9 x 8",
    "9 x 8, skewed speakers": "skewed",
    "9 x 8, trials 1:8 between groups": "1:8",
    "4 x 5": "4 x 5",
    "VoxCeleb1-H": "H",
    "9 x 8, one doubled": "*doubled*",
}
LIMIT = 0.08  # at .05, wherever a p value is offered


def _measures(results: dict[str, list[Row]], kind: str) -> list[str]:
    """Share of p values of at most .05: measures down, designs across, bold above the limit."""
    found: dict[tuple[str, str], dict[tuple[str, float], Row]] = {}
    for row in _rows(results, "measures", kind=kind):
        if row["design"] != "real":
            place = row["design"], row["rate"]
            found.setdefault((row["zero"], row["measure"]), {})[place] = row
    designs = sorted(
        {place for rows in found.values() for place in rows},
        key=lambda place: (list(DESIGNS).index(place[0]), -place[1]),
    )
    lines = [
        (
            measure if zero == "none" else f"{measure}, {zero}",
            *(_against_limit(rows[place]) if place in rows else NONE for place in designs),
        )
        for (zero, measure), rows in sorted(found.items(), key=lambda each: each[0][0] != "none")
    ]
    names = (f"{DESIGNS[design]} {_percent(rate)}" for design, rate in designs)
    return _table(("measure", *names), lines)


def _against_limit(row: Row) -> str:
    text = _share(row["rejected"], row["rejected_error"])
    fair = row["design"] != "9 x 8, one doubled"
    above = row["rejected"] is not None and row["rejected"] - row["rejected_error"] > LIMIT
    return f"**{text}**" if fair and above else text


def _real_floors(results: dict[str, list[Row]]) -> list[str]:
    lines = [
        (
            {**KINDS, "both": "both"}[row["kind"]],
            row["measure"],
            *(_share(row[name]) for name in ("value", "mean", "q95", "p")),
        )
        for row in _rows(results, "measures", design="real")
    ]
    head = ("error", "measure", "value", "floor, mean", "95 % quantile", "p")
    return _table(head, lines)


def _about(results: dict[str, list[Row]]) -> list[str]:
    return [
        f"* {each}" for each in sorted({row["about"] for rows in results.values() for row in rows})
    ]


TABLES = {
    "fnr": lambda results: _rates(results, "fnr"),
    "fpr": lambda results: _rates(results, "fpr"),
    "levels": _levels,
    "ratios": _ratios,
    "enrolled": _enrolled,
    "real": _real,
    "curves": _curves,
    "thresholds": _thresholds,
    "blocks": _blocks,
    "mitigation": _mitigation,
    "calibration loss": _calibration_loss,
    "streams": _streams,
    "delays": _delays,
    "replays": _replays,
    "varying_days": _varying_days,
    "gates": _gates,
    "warnings": _warnings,
    "blocks, found again": _blocks_found_again,
    "type I": lambda results: _null(results, fair=True),
    "joint": _joint,
    "FNR by measure": lambda results: _measures(results, "fnr"),
    "FPR by measure": lambda results: _measures(results, "fpr"),
    "both by measure": lambda results: _measures(results, "both"),
    "real floors": _real_floors,
    "power": lambda results: _null(results, fair=False),
    "single": _single,
    "floors": _floors,
    "heterogeneity": lambda results: _heterogeneity(results, fair=True),
    "power of heterogeneity": lambda results: _heterogeneity(results, fair=False),
    "asked together": _asked_together,
    "better": _better,
    "alike": _alike,
    "findings": _findings,
    "spread": _spread,
    "best guesses": _best_guesses,
    "named": _named,
    "plans": _plans,
    "about": _about,
}

TEMPLATE = (Path(__file__).with_name("page.md")).read_text(encoding="utf-8")
