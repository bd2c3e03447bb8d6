"""Charts as SVG, PNG, PDF and as what a page brings to life; always the same bytes."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast
from xml.etree import ElementTree as ET

import numpy as np

from parivox.errors import ConfigError
from parivox.report.charts.curves import simplified
from parivox.report.charts.grammar import WITHIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.report.charts.grammar import Spec

_SVG = "http://www.w3.org/2000/svg"
_NUMBER = re.compile(r"-?\d*\.\d+(?:e-?\d+)?|-?\d+e-?\d+")
_MOVED = re.compile(r"^translate\((-?[\d.]+),(-?[\d.]+)\)$")
_STRAIGHT = re.compile(r"^(?:M[-\d.]+,[-\d.]+(?:L[-\d.]+,[-\d.]+)+Z?)+$")
_DOT = re.compile(r"^M([\d.]+),0A\1,\1,0,1,1,-\1,0A\1,\1,0,1,1,\1,0Z?$")
_PLACED = {"clip-path", "transform"}
"""An element has one of these for itself: it cannot have that of the group around it, too."""
_CLIP = re.compile(r"url\(#(\w+)\)")
_PLACES = ("d", "transform", "x", "y", "x1", "y1", "x2", "y2", "width", "height")
_SILENT = ("role", "class", "pointer-events")
_DEFAULTS = {
    "opacity": "1",
    "stroke-width": "1",
    "stroke-dasharray": "1,0",
    "font-weight": "normal",
    "text-anchor": "start",
}
_INHERITED = (
    *("fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-weight"),
    *("font-family", "text-anchor", "fill-opacity", "stroke-opacity"),
)
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_ON_PAPER = 300
"""Pixels per inch of a PNG."""
_PER_INCH = 96
_UNSEEN = 0.2
"""Pixels by which a line may be off."""
_LEGENDS = {"top": {"anchor": "start", "direction": "vertical", "margin": 4}}
"""Several legends one under the other, from the left."""
_MIDDLE = 0.3
"""Of its size, how far below its place a word's line runs where its middle is there."""


def spec(chart: Any) -> Spec:
    """What Vega-Lite draws a chart from, be it of this package or of Altair."""
    found = chart if isinstance(chart, dict) else chart.to_dict(validate=False)
    return cast("Spec", _drawable(found))


def _drawable(part: Any) -> Any:
    """The same without characters that XML forbids: at them, drawing aborts the process."""
    if isinstance(part, str):
        return _FORBIDDEN.sub("\ufffd", part)
    if isinstance(part, list):
        return [_drawable(one) for one in part]
    if isinstance(part, dict):
        return {_drawable(name): _drawable(one) for name, one in part.items()}
    return part


def svg(chart: Any, *, id: str = "figure", title: str = "", description: str = "") -> str:  # noqa: A002
    """The chart as one small ``<svg>`` that may stand in a page among others.

    `id` is put before every id within, so that no two figures of a page share one; `title` and
    `description` are for readers who do not see it.
    """
    vega = _vega()
    compiled = vega.vegalite_to_vega(spec(chart))
    compiled.setdefault("config", {}).setdefault("legend", {})["layout"] = _LEGENDS
    _prepare(compiled)
    root = ET.fromstring(vega.vega_to_svg(compiled))  # noqa: S314 - drawn just now
    for one in root.iter(f"{{{_SVG}}}text"):
        one.set("font-size", one.get("font-size", "").lstrip("-"))
    _raise_axes(root)
    return _tidied(root, id, title, description)


def png(chart: Any) -> bytes:
    """The chart as PNG, fine enough for print."""
    return bytes(_vega().svg_to_png(svg(chart), scale=_ON_PAPER / _PER_INCH, ppi=72))


def pdf(chart: Any) -> bytes:
    """The chart as PDF, as wide as its theme says: a pixel is a 96th of an inch."""
    root = ET.fromstring(svg(chart))  # noqa: S314 - drawn just now
    for side in ("width", "height"):
        root.set(side, f"{float(root.get(side, '0')) * 72 / _PER_INCH:g}")
    return pdf_in_order(bytes(_vega().svg_to_pdf(ET.tostring(root, encoding="unicode"))))


def _vega() -> Any:
    try:
        import vl_convert  # noqa: PLC0415 - an optional dependency
    except ImportError as error:
        msg = "charts need vl-convert: pip install 'parivox[report]'"
        raise ConfigError(msg) from error
    return vl_convert


def _prepare(part: Spec) -> None:
    """Turn sizes negative, until they are drawn, of words that lie within their panel.

    Such words are not measured, which is slow. Marks describe themselves only where a chart says
    how.
    """
    for mark in part.get("marks", ()):
        look = mark.get("encode", {}).get("update", {})
        if "tooltip" not in look:
            look.pop("description", None)
        if WITHIN in mark.get("style", ()) and mark["type"] == "text":
            size = look["fontSize"]["value"]
            lift = look.get("dy", {}).get("value", 0) + 2 * round(_MIDDLE * size)
            look |= {"fontSize": {"value": -size}, "dy": {"value": lift}}
        _prepare(mark)


def _raise_axes(root: ET.Element) -> None:
    """Where the last row of panels is not full, axes below its gaps move up to their panels."""
    for parent in root.iter():
        cells = [one for one in parent if "role-scope" in one.get("class", "").split()]
        feet = [one for one in parent if "role-column-footer" in one.get("class", "").split()]
        if not cells or not feet:
            continue
        places = [_place(one) for one in cells[0]]
        bottom = max((y for _, y in places), default=0)
        lowest: dict[float, float] = {}
        for x, y in places:
            lowest[x] = max(y, lowest.get(x, y))
        for foot in (one for group in feet for one in group):
            x, y = _place(foot)
            up = bottom - lowest.get(x, bottom)
            foot.set("transform", f"translate({x:g},{y - up:g})")


def _place(one: ET.Element) -> tuple[float, float]:
    moved = _MOVED.match(one.get("transform", ""))
    return (float(moved[1]), float(moved[2])) if moved else (0.0, 0.0)


def _tidied(root: ET.Element, prefix: str, title: str, description: str) -> str:
    """What is seen, in as few bytes as do not change it."""
    fonts = _most_common(root, "font-family"), _most_common(root, "font-size")
    _rename_clips(root, prefix)
    for one in [*root.iter()]:
        words = one.get("aria-label", "").removeprefix("; ")  # a panel without a name
        if words and _tag(one) in {"path", "rect"}:
            ET.SubElement(one, f"{{{_SVG}}}title").text = words  # seen by who points at it
    _tidy(root)
    size = {name: root.get(name, "") for name in ("width", "height", "viewBox")}
    root.attrib.clear()
    root.attrib.update(size)
    for name, value in zip(("font-family", "font-size"), fonts, strict=True):
        if value:
            root.set(name, value)
            for one in root.iter():
                if one is not root and one.get(name) == value:
                    del one.attrib[name]
    names = [(kind, text) for kind, text in (("title", title), ("desc", description)) if text]
    for place, (kind, text) in enumerate(names):
        one = ET.Element(f"{{{_SVG}}}{kind}", {"id": f"{prefix}-{kind}"})
        one.text = text
        root.insert(place, one)
    if names:
        root.set("role", "img")
        root.set("aria-labelledby", " ".join(f"{prefix}-{kind}" for kind, _ in names))
    ET.register_namespace("", _SVG)
    return ET.tostring(root, encoding="unicode")


def _tidy(parent: ET.Element) -> None:
    """Drop what is not seen and join what looks alike, of the innermost elements first."""
    for child in parent:
        _tidy(child)
    _drop_unseen(parent)
    _merge(parent)
    _share(parent)
    kept = list(_unwrapped(parent))
    for child in list(parent):
        parent.remove(child)
    parent.extend(kept)


def _tag(one: ET.Element) -> str:
    return one.tag.rpartition("}")[2]


def _most_common(root: ET.Element, name: str) -> str:
    found = Counter(value for one in root.iter() if (value := one.get(name)))
    return found.most_common(1)[0][0] if found else ""


def _rename_clips(root: ET.Element, prefix: str) -> None:
    """Names of clips, which count on from chart to chart, begin anew; equal ones become one."""
    names: dict[str, str] = {}
    by_shape: dict[bytes, str] = {}
    for parent in [*root.iter()]:
        for clip in [one for one in parent if _tag(one) == "clipPath"]:
            shape = b"".join(ET.tostring(child) for child in clip)
            is_new = shape not in by_shape
            name = by_shape.setdefault(shape, f"{prefix}-c{len(by_shape)}")
            names[clip.get("id", "")] = name
            clip.set("id", name)
            if not is_new:
                parent.remove(clip)
    for one in root.iter():
        if clip_path := one.get("clip-path"):
            one.set("clip-path", _CLIP.sub(lambda m: f"url(#{names.get(m[1], m[1])})", clip_path))


def _drop_unseen(parent: ET.Element) -> None:
    for child in list(parent):
        tag, have = _tag(child), child.attrib
        for name in [n for n in have if n.startswith("aria-") or n in _SILENT]:
            del have[name]
        for name, value in _DEFAULTS.items():
            if have.get(name) == value:
                del have[name]
        for name in _PLACES:
            if name in have:
                have[name] = _NUMBER.sub(_rounded, have[name])
        if tag == "path" and _STRAIGHT.match(have.get("d", "")):
            have["d"] = "".join(_steps(part) for part in have["d"].split("M")[1:])
        _shorten(child)
        tag = _tag(child)
        if have.get("transform") in {"translate(0,0)", "translate(0.5,0.5)"} and tag == "g":
            del have["transform"]
        inkless = not ({have.get("fill", "none"), have.get("stroke", "none")} - _NO_INK)
        is_hidden = have.get("display") == "none" or have.get("opacity") == "0"
        is_empty = {
            "g": not len(child),
            "text": not (child.text or len(child)),
            "path": not have.get("d") or inkless,
            "line": inkless,
            "rect": inkless,
        }.get(tag, False)
        if (is_hidden or is_empty) and _tag(parent) != "clipPath":
            parent.remove(child)


_NO_INK = {"none", "transparent", ""}


def _rounded(number: re.Match[str]) -> str:
    text = f"{float(number[0]):.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def _steps(line: str) -> str:
    """A line of points, each given by the step from the one before, without those unseen."""
    end = "z" if line.endswith("Z") else ""
    points = [tuple(map(float, pair.split(","))) for pair in line.rstrip("Z").split("L")]
    places = np.array(points)
    points = [points[i] for i in simplified(places[:, 0], places[:, 1], by=_UNSEEN)]
    drawn, command = [f"M{_plain(points[0][0])},{_plain(points[0][1])}"], ""
    for (x0, y0), (x, y) in pairwise(points):
        across, down = _plain(x - x0), _plain(y - y0)
        if (across, down) == ("0", "0"):
            continue
        kind = "h" if down == "0" else "v" if across == "0" else "l"
        steps = {"h": (across,), "v": (down,)}.get(kind, (across, down))
        for place, text in enumerate(steps):
            is_first = place == 0 and kind != command
            lead = kind if is_first else "" if text.startswith("-") else " "
            drawn.append(f"{lead}{text}")
        command = kind
    return "".join(drawn) + end


def _plain(value: float) -> str:
    """A number to a tenth, without zeros that say nothing."""
    text = f"{value:.1f}".removesuffix(".0")
    text = text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
    return "0" if text == "-0" else text


def _shorten(one: ET.Element) -> None:
    """Words and dots have places of their own, without a transform."""
    moved = _MOVED.match(one.get("transform", ""))
    dot = _DOT.match(one.get("d", "")) if _tag(one) == "path" else None
    if moved and dot:
        del one.attrib["transform"], one.attrib["d"]
        one.tag = f"{{{_SVG}}}circle"
        one.attrib.update({"cx": moved[1], "cy": moved[2], "r": dot[1]})
    if moved and _tag(one) == "text" and not len(one):
        del one.attrib["transform"]
        one.attrib.update({"x": moved[1], "y": moved[2]})


def _merge(parent: ET.Element) -> None:
    """Lines and areas of one look that follow each other become one path."""
    merged: ET.Element | None = None
    look: dict[str, str] = {}
    for child in list(parent):
        drawn = _path_of(child)
        if not drawn or "opacity" in child.attrib:
            merged = None
            continue
        own = {n: v for n, v in child.attrib.items() if n not in {"transform", "x2", "y2", "d"}}
        if merged is not None and own == look:
            merged.set("d", merged.get("d", "") + drawn)
            parent.remove(child)
            continue
        child.tag = f"{{{_SVG}}}path"
        child.attrib.clear()
        child.attrib.update({**own, "d": drawn})
        merged, look = child, own


def _path_of(one: ET.Element) -> str:
    """What a line or a path draws where it stands; empty for all else and what has a title."""
    if len(one):
        return ""
    if _tag(one) == "path":
        return "" if "transform" in one.attrib else one.get("d", "")
    moved = _MOVED.match(one.get("transform", "translate(0,0)"))
    if _tag(one) != "line" or moved is None:
        return ""
    across, down = one.get("x2", "0"), one.get("y2", "0")
    step = f"h{across}" if float(down) == 0 else f"l{across},{down}"
    step = f"v{down}" if float(across) == 0 else step
    return f"M{moved[1]},{moved[2]}{step}"


def _share(parent: ET.Element) -> None:
    """What all children have alike, the parent has for them."""
    children = list(parent)
    if _tag(parent) != "g" or not children:
        return
    for name in (*_INHERITED, "clip-path"):
        values = {child.get(name) for child in children}
        if name == "clip-path" and any(child.get("transform") for child in children):
            continue
        if len(values) == 1 and None not in values:
            parent.set(name, values.pop() or "")
            for child in children:
                del child.attrib[name]


def _unwrapped(parent: ET.Element) -> Iterator[ET.Element]:
    """The children, without groups that say nothing."""
    for child in parent:
        if _tag(child) == "g" and not child.attrib:
            yield from child
        elif (
            _tag(child) == "g"
            and len(child) == 1
            and not (_PLACED & {*child.keys()} and _PLACED & {*child[0].keys()})
        ):
            child[0].attrib.update({**child.attrib, **child[0].attrib})
            yield child[0]
        else:
            yield child


# ---- what draws a PDF numbers and writes its objects as chance has it


_OBJECT = re.compile(rb"^(\d+) 0 obj\n(.*?)\nendobj\n", re.DOTALL | re.MULTILINE)
_REFERENCE = re.compile(rb"\b(\d+) 0 R\b")
_ENTRIES = re.compile(rb"(?:^ +/\w+ \d+ 0 R\n)+", re.MULTILINE)
_STREAM = b"\nstream\n"


def pdf_in_order(pdf: bytes) -> bytes:
    """The same document, its objects numbered and written as they are reached from its root.

    It is as vl-convert writes it: plain objects, one table of where each is, one trailer.
    """
    parts = {int(found[1]): found[2].partition(_STREAM) for found in _OBJECT.finditer(pdf)}
    heads = {number: _ENTRIES.sub(_by_name, part[0]) for number, part in parts.items()}
    trailer = pdf[pdf.rindex(b"trailer") : pdf.rindex(b"startxref")]
    order = _reached(trailer, heads)
    new = {number: place for place, number in enumerate(order, 1)}

    def renumbered(text: bytes) -> bytes:
        return _REFERENCE.sub(lambda found: b"%d 0 R" % new[int(found[1])], text)

    made = bytearray(pdf[: next(_OBJECT.finditer(pdf)).start()])
    places = []
    for number in order:
        places.append(len(made))
        rest = b"".join(parts[number][1:])
        made += b"%d 0 obj\n%b%b\nendobj\n\n" % (new[number], renumbered(heads[number]), rest)
    start = len(made)
    made += b"xref\n0 %d\n0000000000 65535 f \n" % (len(order) + 1)
    made += b"".join(b"%010d 00000 n \n" % place for place in places)
    made += re.sub(rb"/Size \d+", b"/Size %d" % (len(order) + 1), renumbered(trailer))
    return bytes(made) + b"startxref\n%d\n%%%%EOF" % start


def _by_name(entries: re.Match[bytes]) -> bytes:
    return b"".join(sorted(entries[0].splitlines(keepends=True)))


def _reached(trailer: bytes, heads: dict[int, bytes]) -> list[int]:
    """Objects in the order in which references lead to them."""
    order: dict[int, None] = {}
    ahead = [int(number) for number in _REFERENCE.findall(trailer)]
    while ahead:
        number = ahead.pop(0)
        if number not in order:
            order[number] = None
            ahead += [int(one) for one in _REFERENCE.findall(heads[number])]
    return list(order)
