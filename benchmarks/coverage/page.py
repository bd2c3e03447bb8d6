"""The page docs/coverage.md, written from the files in results/, so that figures cannot drift."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.coverage import findings, published
from benchmarks.coverage.records import Row, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"
NO_FIGURE = "–"
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
    return ", ".join(f"{name} {figure}" for name, figure in row.items() if name not in left_out)


def render(studies: dict[str, list[Row]]) -> str:
    """Return the page as Markdown."""
    text = TEMPLATE
    for name, table in TABLES.items():
        text = text.replace(f"<<{name}>>", "\n".join(table(studies)))
    return text


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    body = [f"| {' | '.join(row)} |" for row in rows]
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(body or ["Not yet run."])]


def _share(figure: float | None, error: float | None = None, places: int = 3) -> str:
    """Return `.941 ± .005`."""
    if figure is None:
        return NO_FIGURE
    text = f"{figure:.{places}f}".removeprefix("0")
    return text if error is None else f"{text} ± {f'{error:.{places}f}'.removeprefix('0')}"


def _coverage(row: Row) -> str:
    return _share(row["coverage"], row["coverage_error"])


def _percent(rate: float) -> str:
    return f"{100 * rate:.3g} %"


def _theirs(row: Row, figure: float | None, datasets: int, name: str = "coverage") -> str:
    """Return the figure to meet, starred if it differs by more than two Monte Carlo errors."""
    if figure is None or row[name] is None:
        return NO_FIGURE
    places = 2 if row["method"] == "trials" else 3
    apart = published.differs(row[name], row[f"{name}_error"], figure, datasets, places)
    return _share(figure, places=places) + ("\\*" if apart else "")


def _rows(studies: dict[str, list[Row]], study: str, **labels: Any) -> list[Row]:
    return [
        row
        for row in studies.get(study, [])
        if all(row.get(name) == label for name, label in labels.items())
    ]


def _rates(studies: dict[str, list[Row]], kind: str) -> list[str]:
    datasets = published.FNR_DATASETS if kind == "fnr" else published.FPR_DATASETS
    lines = []
    for row in _rows(studies, "rates", kind=kind, level=0.95):
        key = (kind, row["speakers"], row["shape"], row["rate"], row["method"])
        width = published.WIDTH.get(key)
        lines.append(
            (
                f"{row['speakers']}" + ("" if row["shape"] == "even" else f", {row['shape']}"),
                _percent(row["rate"]),
                METHOD_NAMES[row["method"]],
                _coverage(row),
                _theirs(row, published.COVERAGE.get(key), datasets),
                f"{row['below']:.3f} / {row['above']:.3f}",
                NO_FIGURE if row["log_width"] is None else f"{row['log_width']:.2f}",
                NO_FIGURE if width is None else f"{width:.2f}",
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


def _levels(studies: dict[str, list[Row]]) -> list[str]:
    lines = []
    for row in _rows(studies, "rates", method="speakers", level=0.90):
        speaker_rows = [
            row,
            *_rows(studies, "rates", cell=row["cell"], method="speakers", level=0.99),
        ]
        floor = [
            *_rows(studies, "rates", cell=row["cell"], method="pooled floor", level=0.90),
            *_rows(studies, "rates", cell=row["cell"], method="pooled floor", level=0.99),
        ]
        cells = [_coverage(level_row) for level_row in (*speaker_rows, *floor)]
        lines.append(
            (
                KINDS[row["kind"]],
                f"{row['speakers']}" + ("" if row["shape"] == "even" else f", {row['shape']}"),
                _percent(row["rate"]),
                *cells,
                *[NO_FIGURE] * (4 - len(cells)),
            )
        )
    head = ("error", "speakers", "rate", "90 %", "99 %", "pooled floor, 90 %", "99 %")
    return _table(head, lines)


def _ratios(studies: dict[str, list[Row]]) -> list[str]:
    lines = []
    for row in _rows(studies, "ratios", method="speakers", level=0.95):
        if "other" not in row:
            continue
        key = (row["kind"], row["one"], row["other"], row["rate"])
        datasets = published.FNR_DATASETS if row["kind"] == "fnr" else published.FPR_DATASETS
        level_rows = [
            _rows(studies, "ratios", cell=row["cell"], method="speakers", level=level)[0]
            for level in (0.90, 0.99)
        ]
        lines.append(
            (
                KINDS[row["kind"]],
                f"{row['one']} against {row['other']}",
                _percent(row["rate"]),
                _coverage(row),
                _theirs(row, published.RATIOS.get(key), datasets),
                f"{row['log_width']:.2f}",
                *map(_coverage, level_rows),
            )
        )
    head = ("error", "speakers", "rate", "95 %", "to meet", "log width", "90 %", "99 %")
    return _table(head, lines)


def _enrolled(studies: dict[str, list[Row]]) -> list[str]:
    lines = []
    for row in _rows(studies, "ratios", level=0.95):
        if "other" in row:
            continue
        level_rows = [
            next(
                candidate
                for candidate in _rows(studies, "ratios", cell=row["cell"], level=level)
                if (candidate["one"], candidate["method"]) == (row["one"], row["method"])
            )
            for level in (0.90, 0.99)
        ]
        lines.append(
            (
                f"{row['one']}",
                _percent(row["rate"]),
                {"speakers": "rate, closed form"}.get(row["method"], "ratio, joint bootstrap"),
                _coverage(row),
                f"{row['log_width']:.2f}",
                *map(_coverage, level_rows),
                _share(row["undefined"], places=2),
            )
        )
    head = ("speakers who enrol", "rate", "interval of", "95 %", "log width", "90 %", "99 %")
    return _table((*head, "none"), lines)


def _real(studies: dict[str, list[Row]]) -> list[str]:
    lines = []
    for row in _rows(studies, "real", method="speakers", level=0.95):
        key = (row["group"], row["kind"], row["speakers"], row["rate"])
        (naive,) = _rows(studies, "real", cell=row["cell"], method="trials")
        lines.append(
            (
                f"{row['group']}",
                KINDS[row["kind"]],
                f"{row['speakers']} of {row['of']}",
                _percent(row["true_rate"]),
                _share(naive["coverage"]),
                _coverage(row),
                _theirs(row, published.REAL.get(key), published.FNR_DATASETS),
                f"{row['log_width']:.2f}",
            )
        )
    head = ("group", "error", "speakers", "rate", "trials", "**speakers**", "to meet", "log width")
    return _table(head, lines)


def _curves(studies: dict[str, list[Row]]) -> list[str]:
    lines = []
    for row in _rows(studies, "curves", level=0.95):
        level_rows = [
            next(
                candidate
                for candidate in _rows(studies, "curves", cell=row["cell"], level=level)
                if (candidate["metric"], candidate["method"]) == (row["metric"], row["method"])
            )
            for level in (0.90, 0.99)
        ]
        lines.append(
            (
                row["metric"],
                f"{row['speakers']}",
                _percent(row["rate"]),
                _coverage(row),
                f"{row['below']:.3f} / {row['above']:.3f}",
                f"{row['log_width']:.2f}",
                *map(_coverage, level_rows),
                _share(row["undefined"], places=2),
            )
        )
    lines.sort(key=lambda cells: cells[0])
    head = ("metric", "speakers", "EER", "95 %", "truth below / above", "log width", "90 %", "99 %")
    return _table((*head, "none"), lines)


def _thresholds(studies: dict[str, list[Row]]) -> list[str]:
    lines = []
    for row in _rows(studies, "thresholds", method="found again"):
        labels = {name: row[name] for name in ("cell", "point")}
        (stays,) = _rows(studies, "thresholds", method="as it is", **labels)
        lines.append(
            (
                row["speakers"],
                _percent(row["rate"]),
                row["point"],
                f"{KINDS[row['kind']]}, {_percent(row['true'])}",
                _coverage(stays),
                f"{stays['log_width']:.2f}",
                _coverage(row),
                f"{row['log_width']:.2f}",
                f"{row['below']:.3f} / {row['above']:.3f}",
            )
        )
    lines.sort(key=lambda cells: cells[0].isdigit())
    head = ("speakers", "EER", "point", "true rate", "as it is", "log width")
    return _table((*head, "**found again**", "log width", "truth below / above"), lines)


def _null(studies: dict[str, list[Row]], *, fair: bool) -> list[str]:
    measures = ("Gini", "max/min", "max - min", "sd of log")
    lines = []
    cells = dict.fromkeys(
        (row["cell"], row["method"])
        for row in studies.get("floors", [])
        if "rejected" in row and ("doubled" in row["design"]) != fair and row["measure"] == "Gini"
    )
    for cell, method in cells:
        rows = {row["measure"]: row for row in _rows(studies, "floors", cell=cell, method=method)}
        gini_row = rows["Gini"]
        key = (gini_row["design"], gini_row["kind"], gini_row["rate"], method)
        gini = {**gini_row, "method": method}
        theirs = _theirs(gini, published.GINI.get(key), published.FLOOR_DATASETS, "rejected")
        figures = [_share(gini_row["rejected"], gini_row["rejected_error"])]
        if fair:
            figures.append(theirs)
        figures += [_share(rows[measure]["rejected"]) for measure in measures[1:]]
        lines.append(
            (
                gini_row["design"],
                KINDS[gini_row["kind"]],
                _percent(gini_row["rate"]),
                method,
                *figures,
                _share(gini_row["refused"], places=2),
            )
        )
    head = ["design", "error", "rate", "null draws", "Gini", "to meet", *measures[1:], "no p"]
    if not fair:
        head.remove("to meet")
    return _table(head, lines)


def _single(studies: dict[str, list[Row]]) -> list[str]:
    lines = []
    for row in _rows(studies, "floors", measure="first group"):
        labels = {"cell": row["cell"], "method": row["method"]}
        (other_groups,) = _rows(studies, "floors", measure="other groups", **labels)
        lines.append(
            (
                row["design"],
                KINDS[row["kind"]],
                _percent(row["rate"]),
                "pooled floor" if row["method"].endswith("floor") else "**speakers**",
                _share(row["rejected"], row["rejected_error"]),
                _share(other_groups["rejected"], other_groups["rejected_error"]),
                _share(other_groups["refused"], places=2),
            )
        )
    head = ("design", "error", "rate", "interval", "first group", "other groups", "no p")
    return _table(head, lines)


def _joint(studies: dict[str, list[Row]]) -> list[str]:
    lines = [
        (
            row["design"],
            _percent(row["rate"]),
            row["measure"],
            _share(row["rejected"], row["rejected_error"]),
            _share(row["refused"], places=2),
        )
        for row in _rows(studies, "floors", kind="both")
    ]
    return _table(("design", "FPR = FNR", "measure", "rejected", "no p"), lines)


def _floors(studies: dict[str, list[Row]]) -> list[str]:
    lines = []
    for row in _rows(studies, "floors", design="floor"):
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


def _spread(studies: dict[str, list[Row]]) -> list[str]:
    lines = [
        (
            f"{row['groups']} x {row['speakers']}",
            KINDS[row["kind"]],
            f"{row['spread']:g}",
            _coverage(row),
            _share(row["below"]),
            _share(row["above"]),
            f"{row['value']:.2f}",
            f"{row['width']:.2f}",
        )
        for row in _rows(studies, "spread")
    ]
    head = ("groups x speakers", "error", "true", "held", "below it", "above it", "mean", "width")
    return _table(head, lines)


def _heterogeneity(studies: dict[str, list[Row]], *, fair: bool) -> list[str]:
    shares_by_design: dict[tuple[str, str, float], dict[str, str]] = {}
    for row in _rows(studies, "heterogeneity", fair=fair):
        if row["kind"] == "both":
            continue
        of_design = shares_by_design.setdefault((row["design"], row["kind"], row["rate"]), {})
        of_design[row["measure"]] = _share(row["rejected"], row["rejected_error"])
    measures = ("heterogeneity", "plainly", "Gini", "tau_log")
    lines = [
        (design, KINDS[kind], _percent(rate), *(shares.get(name, NO_FIGURE) for name in measures))
        for (design, kind, rate), shares in shares_by_design.items()
    ]
    return _table(("design", "error", "rate", *measures), lines)


def _better(studies: dict[str, list[Row]]) -> list[str]:
    judgements = ("better", "plainly", "worse")
    names = [f"{group}_{judgement}" for group in ("equal", "own") for judgement in judgements]
    lines = []
    for row in _rows(studies, "better"):
        shares = [_share(row[name], row[f"{name}_error"]) for name in names]
        kind, rate = KINDS[row["kind"]], _percent(row["rate"])
        lines.append((row["design"], kind, rate, row["unlike"], *shares))
    head = ("groups", "error", "rate", "one is", "an equal one better", "plainly", "worse")
    return _table((*head, "that one better", "plainly", "worse"), lines)


def _mitigation(studies: dict[str, list[Row]]) -> list[str]:
    lines = [
        (
            row["system"],
            row["aim"],
            f"{row['shift']:g}",
            row["rule"],
            row["measure"],
            _share(row["told_apart"], row["told_apart_error"]),
            f"{row['true']:+.4f}",
            f"{row['found']:+.4f}",
            f"{row['wide']:.2f}",
            _share(row["holds_0"]),
            _coverage(row),
            f"{row['datasets']:,}",
        )
        for row in _rows(studies, "mitigation")
    ]
    head = ("scores", "aim", "shift", "rule", "of", "told apart", "true", "found", "wide")
    return _table((*head, "holds 0", "coverage", "draws"), lines)


def _calibration_loss(studies: dict[str, list[Row]]) -> list[str]:
    lines = [
        (
            row["command"],
            row["scores"],
            str(row["speakers"]),
            f"x {row['slope']:g}",
            row["of"],
            f"{row['true']:.4f}",
            f"{row['plain']:.4f}",
            f"{row['found']:.4f}",
            _share(row["holds_0"], row["holds_0_error"]),
            _coverage(row),
        )
        for row in _rows(studies, "calibration_loss")
    ]
    head = ("command", "scores", "speakers", "ratios", "of", "true", "Cllr - min", "corrected")
    return _table((*head, "**holds 0**", "coverage"), lines)


def _streams(studies: dict[str, list[Row]]) -> list[str]:
    lines = [
        (
            row["speakers"],
            _percent(row["rate"]),
            f"{row['icc']:g}",
            f"{row['calls']:g}",
            row["against"],
            f"{row['streams']:,}",
            _share(row["alarms"], row["alarms_error"]),
        )
        for row in _rows(studies, "monitor")
        if "alarms" in row and "rate" in row
    ]
    head = ("speakers", "FNR", "correlation", "calls a day", "against", "streams")
    return _table((*head, "**ever an alarm**"), lines)


def _delays(studies: dict[str, list[Row]]) -> list[str]:
    lines = []
    for row in _rows(studies, "monitor", times=2.0):
        delays = [
            NO_FIGURE if row.get(name) is None else f"{row[name]}"
            for name in ("delay_50", "delay_80", "once_50", "once_80")
        ]
        before = _share(row["before"], row["before_error"])
        case = (row["speakers"], f"{row['margin']:g}", row["against"])
        lines.append((*case, before, _share(row["found"]), *delays))
    head = ("speakers", "margin", "against", "alarm before", "alarm after", "days to 50 %")
    return _table((*head, "80 %", "one look, 50 %", "80 %"), lines)


def _replays(studies: dict[str, list[Row]]) -> list[str]:
    lines = []
    for row in _rows(studies, "monitor"):
        if "replay" in row and "days of" not in row["replay"]:
            name = "before" if "before" in row else "alarms"
            days = (
                f"{row[column]}" if row.get(column) else NO_FIGURE
                for column in ("delay_50", "delay_80")
            )
            false = _share(row[name], row[f"{name}_error"])
            lines.append((row["replay"], row["against"], f"{row['streams']}", false, *days))
    head = ("decided by", "against", "streams", "**false alarm**", "days to 50 %", "80 %")
    return _table(head, lines)


def _varying_days(studies: dict[str, list[Row]]) -> list[str]:
    lines = []
    for row in _rows(studies, "monitor"):
        if "days of" in row.get("replay", ""):
            name = "before" if "before" in row else "alarms"
            false = _share(row[name], row[f"{name}_error"])
            varying = row.get("varying")
            judged = NO_FIGURE if varying is None else _share(varying, row["varying_error"])
            days = f"{row['delay_50']}" if row.get("delay_50") else NO_FIGURE
            alarmed = _share(row["found"]) if "found" in row else NO_FIGURE
            cells = (row["replay"], row["against"], f"{row['streams']}", false, judged)
            lines.append((*cells, alarmed, days))
    head = ("decided by", "against", "streams", "**false alarm**", "not judged at the end")
    return _table((*head, "alarm after", "days to 50 %"), lines)


def _gates(studies: dict[str, list[Row]]) -> list[str]:
    lines = [
        (
            row["system"],
            f"{row['times']:g}",
            f"{row.get('moved', 0):g}",
            str(row["speakers"]),
            row["condition"],
            _share(row["fails"], row["fails_error"]),
        )
        for row in _rows(studies, "gate")
    ]
    head = ("scores", "one group is", "changed group", "speakers", "condition", "fails")
    return _table(head, lines)


def _warnings(studies: dict[str, list[Row]]) -> list[str]:
    lines = [
        (
            row["fault"] or "none",
            row["system"],
            f"{row['trials']:,}",
            str(row["datasets"]),
            _share(row["warned"], row["warned_error"]),
        )
        for row in _rows(studies, "data_warnings")
    ]
    return _table(("fault", "scores", "trials", "lists", "warned"), lines)


def _alike(studies: dict[str, list[Row]]) -> list[str]:
    shares = ("within_95", "said", "within_99")
    lines = []
    for row in _rows(studies, "alike"):
        figures = [f"{_percent(row[name])} ± {100 * row[f'{name}_error']:.2g}" for name in shares]
        case = (row["design"], KINDS[row["kind"]], _percent(row["rate"]), f"{row['times']:g}")
        lines.append((*case, f"{row['datasets']:,}", *figures))
    head = ("groups", "error", "rate", "one has, times", "data sets", "95 % within")
    return _table((*head, "**called alike**", "99 % within"), lines)


def _asked_together(studies: dict[str, list[Row]]) -> list[str]:
    shares_by_design: dict[str, dict[str, str]] = {}
    for row in _rows(studies, "heterogeneity", kind="both"):
        share = _share(row["rejected"], row["rejected_error"])
        shares_by_design.setdefault(row["design"], {})[row["asked"]] = share
    questions = ("which", "whether", "both at full", "both")
    lines = [
        (design, *(shares[question] for question in questions))
        for design, shares in shares_by_design.items()
    ]
    return _table(
        ("design", "which differ", "whether any do", "both, each at .05", "as done"), lines
    )


def _best_guesses(studies: dict[str, list[Row]]) -> list[str]:
    lines = [
        (
            row["design"],
            KINDS[row["kind"]],
            _percent(row["rate"]),
            f"{row['spread']:g}",
            _adds_up(row),
            f"{row['raw']:.2f}",
            f"**{row['guess']:.2f}**",
            _share(row["held"], row["held_error"]),
            _share(row["ratio"], row["ratio_error"]),
            _share(row["rejected"], row["rejected_error"]),
        )
        for row in _rows(studies, "shrinkage", part="all")
    ]
    head = ("groups", "error", "rate", "spread", "adds up", "raw is off by", "best guess by")
    return _table((*head, "limits hold", "of ratios", "interaction p ≤ .05"), lines)


def _adds_up(row: Row) -> str:
    if not (row["crossed"] and row["spread"]):
        return NO_FIGURE
    return "yes" if row["adds_up"] else "no"


def _named(studies: dict[str, list[Row]]) -> list[str]:
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
        for row in _rows(studies, "shrinkage", part="named")
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


def _blocks(studies: dict[str, list[Row]]) -> list[str]:
    """A line for each design: rates told from speakers, and from blocks of them."""
    rows_by_cell: dict[str, dict[str, Row]] = {}
    for row in _rows(studies, "blocks"):
        if row["shape"] != "found again":
            rows_by_cell.setdefault(row["cell"], {})[row["method"]] = row
    lines = []
    for rows_by_method in rows_by_cell.values():
        by_speakers, by_blocks = rows_by_method["speakers"], rows_by_method["blocks"]
        shares = [
            _share(row[name], row[f"{name}_error"])
            for name in ("coverage", "smallest_coverage")
            for row in (by_speakers, by_blocks)
        ]
        case = f"{by_blocks['groups']}, {by_blocks['shape']}"
        width = f"{by_blocks['log_width'] / by_speakers['log_width']:.2f}"
        lines.append((KINDS[by_blocks["kind"]], case, *shares, width))
    head = ("error", "groups", "of all groups, by speakers", "by blocks")
    return _table((*head, "of the smallest, by speakers", "by blocks", "width"), lines)


def _blocks_found_again(studies: dict[str, list[Row]]) -> list[str]:
    lines = [
        (
            f"{row['groups']}",
            row["method"],
            _coverage(row),
            f"{row['below']:.3f} / {row['above']:.3f}",
            f"{row['log_width']:.3f}",
        )
        for row in _rows(studies, "blocks", shape="found again")
    ]
    return _table(("groups", "threshold", "coverage", "truth below / above", "log width"), lines)


def _findings(studies: dict[str, list[Row]]) -> list[str]:
    rows_by_design: dict[str, list[Row]] = {}
    for row in findings.shares(studies.get("findings", [])):
        rows_by_design.setdefault(row["design"], []).append(row)
    lines = []
    for design, rows in rows_by_design.items():
        shares = [_share(row["said"], row["said_error"]) for row in rows]
        lines.append((design, *shares, f"{rows[0]['datasets']}"))
    head = ("speakers of", "first grouping", "second", "both", "all, at two points", "and EERs")
    return _table((*head, "and whether attributes add up", "data sets"), lines)


def _plans(studies: dict[str, list[Row]]) -> list[str]:
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
        for row in _rows(studies, "plans")
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


def _measures(studies: dict[str, list[Row]], kind: str) -> list[str]:
    """Share of p values of at most .05: measures down, designs across, bold above the limit."""
    rows_by_measure: dict[tuple[str, str], dict[tuple[str, float], Row]] = {}
    for row in _rows(studies, "measures", kind=kind):
        if row["design"] != "real":
            column = row["design"], row["rate"]
            rows_by_measure.setdefault((row["zero"], row["measure"]), {})[column] = row
    designs = sorted(
        {column for rows in rows_by_measure.values() for column in rows},
        key=lambda column: (list(DESIGNS).index(column[0]), -column[1]),
    )
    lines = []
    for (zero, measure), rows in sorted(
        rows_by_measure.items(), key=lambda pair: pair[0][0] != "none"
    ):
        shares = [
            _against_limit(rows[column]) if column in rows else NO_FIGURE for column in designs
        ]
        lines.append((measure if zero == "none" else f"{measure}, {zero}", *shares))
    names = (f"{DESIGNS[design]} {_percent(rate)}" for design, rate in designs)
    return _table(("measure", *names), lines)


def _against_limit(row: Row) -> str:
    text = _share(row["rejected"], row["rejected_error"])
    fair = row["design"] != "9 x 8, one doubled"
    above = row["rejected"] is not None and row["rejected"] - row["rejected_error"] > LIMIT
    return f"**{text}**" if fair and above else text


def _real_floors(studies: dict[str, list[Row]]) -> list[str]:
    kinds = {**KINDS, "both": "both"}
    lines = []
    for row in _rows(studies, "measures", design="real"):
        figures = [_share(row[name]) for name in ("value", "mean", "q95", "p")]
        lines.append((kinds[row["kind"]], row["measure"], *figures))
    head = ("error", "measure", "value", "floor, mean", "95 % quantile", "p")
    return _table(head, lines)


def _about(studies: dict[str, list[Row]]) -> list[str]:
    return [
        f"* {about}"
        for about in sorted({row["about"] for rows in studies.values() for row in rows})
    ]


TABLES = {
    "fnr": lambda studies: _rates(studies, "fnr"),
    "fpr": lambda studies: _rates(studies, "fpr"),
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
    "type I": lambda studies: _null(studies, fair=True),
    "joint": _joint,
    "FNR by measure": lambda studies: _measures(studies, "fnr"),
    "FPR by measure": lambda studies: _measures(studies, "fpr"),
    "both by measure": lambda studies: _measures(studies, "both"),
    "real floors": _real_floors,
    "power": lambda studies: _null(studies, fair=False),
    "single": _single,
    "floors": _floors,
    "heterogeneity": lambda studies: _heterogeneity(studies, fair=True),
    "power of heterogeneity": lambda studies: _heterogeneity(studies, fair=False),
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
