"""Charts as SVG, PNG and PDF files; the same chart always gives the same bytes."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast
from xml.etree import ElementTree as ET

from parivox.errors import ConfigError
from parivox.report.charts.grammar import WITHIN

if TYPE_CHECKING:
    from parivox.report.charts.grammar import Spec

_SVG = "http://www.w3.org/2000/svg"
_DECIMAL_NUMBER = re.compile(r"-?\d*\.\d+(?:e-?\d+)?|-?\d+e-?\d+")
_TRANSLATION = re.compile(r"^translate\((-?[\d.]+),(-?[\d.]+)\)$")
_CLIP = re.compile(r"url\(#(\w+)\)")
_COORDINATE_ATTRIBUTES = ("d", "transform", "x", "y", "x1", "y1", "x2", "y2", "width", "height")
_UNUSED_ATTRIBUTES = ("role", "class", "pointer-events")
# values that are the defaults of SVG, or draw the same
_DEFAULTS = {
    "opacity": "1",
    "stroke-width": "1",
    "stroke-dasharray": "1,0",
    "font-weight": "normal",
    "text-anchor": "start",
}
_INVISIBLE_INKS = {"none", "transparent"}
# characters that XML forbids
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_PRINT_RESOLUTION = 300
"""Pixels per inch of a PNG."""
_PIXELS_PER_INCH = 96
_LEGEND_LAYOUT = {"top": {"anchor": "start", "direction": "vertical", "margin": 4}}
"""Several legends are drawn one below the other, from the left."""
_MIDDLE_OFFSET = 0.3
"""Distance from the middle of a text down to its baseline, as a share of the font size."""


def spec(chart: Any) -> Spec:
    """Return the Vega-Lite specification of a chart of this package or of Altair."""
    vega_lite = chart if isinstance(chart, dict) else chart.to_dict(validate=False)
    return cast("Spec", _drawable(vega_lite))


def _drawable(node: Any) -> Any:
    """Replace characters that XML forbids, because drawing them aborts the process."""
    if isinstance(node, str):
        return _FORBIDDEN.sub("\ufffd", node)
    if isinstance(node, list):
        return [_drawable(element) for element in node]
    if isinstance(node, dict):
        return {_drawable(name): _drawable(element) for name, element in node.items()}
    return node


def svg(chart: Any, *, id: str = "figure", title: str = "", description: str = "") -> str:  # noqa: A002
    """Return the chart as one small ``<svg>`` element that can be one of several in a page.

    `id` is put before every id within, so that no two figures of a page share one; `title` and
    `description` are for readers who cannot see the chart.
    """
    vega = _vega()
    compiled = vega.vegalite_to_vega(spec(chart))
    compiled.setdefault("config", {}).setdefault("legend", {})["layout"] = _LEGEND_LAYOUT
    _prepare(compiled)
    root = ET.fromstring(vega.vega_to_svg(compiled))  # noqa: S314 - drawn just now
    for element in root.iter(f"{{{_SVG}}}text"):
        element.set("font-size", element.get("font-size", "").lstrip("-"))
    _raise_axes(root)
    return _tidied_svg(root, id, title, description)


def png(chart: Any) -> bytes:
    """Return the chart as PNG, at the resolution of print."""
    return bytes(_vega().svg_to_png(svg(chart), scale=_PRINT_RESOLUTION / _PIXELS_PER_INCH, ppi=72))


def pdf(chart: Any) -> bytes:
    """Return the chart as PDF, as wide as in its theme: a pixel is a 96th of an inch."""
    root = ET.fromstring(svg(chart))  # noqa: S314 - drawn just now
    # a pixel is 1/96 inch, a unit of PDF is 1/72 inch
    for side in ("width", "height"):
        root.set(side, f"{float(root.get(side, '0')) * 72 / _PIXELS_PER_INCH:g}")
    return pdf_in_order(bytes(_vega().svg_to_pdf(ET.tostring(root, encoding="unicode"))))


def load_engine() -> None:
    """Load what draws, which takes a second, and draw nothing."""
    _vega().vegalite_to_vega({"mark": "point", "data": {"values": []}})


def _vega() -> Any:
    try:
        import vl_convert  # noqa: PLC0415 - an optional dependency
    except ImportError as error:
        msg = "charts need vl-convert: pip install 'parivox[report]'"
        raise ConfigError(msg) from error
    return vl_convert


def _prepare(group: Spec) -> None:
    """Make the font size of texts within their panel negative until they are drawn.

    Vega does not measure such texts, which would be slow. Descriptions that Vega adds by itself to
    marks are removed.
    """
    for mark in group.get("marks", ()):
        look = mark.get("encode", {}).get("update", {})
        if "tooltip" not in look:
            look.pop("description", None)
        if WITHIN in mark.get("style", ()) and mark["type"] == "text":
            size = look["fontSize"]["value"]
            lift = look.get("dy", {}).get("value", 0) + 2 * round(_MIDDLE_OFFSET * size)
            look |= {"fontSize": {"value": -size}, "dy": {"value": lift}}
        _prepare(mark)


def _raise_axes(root: ET.Element) -> None:
    """Move axes below gaps in the last row of panels up to their panels."""
    for parent in root.iter():
        cells = [element for element in parent if "role-scope" in element.get("class", "").split()]
        footers = [
            element
            for element in parent
            if "role-column-footer" in element.get("class", "").split()
        ]
        if not cells or not footers:
            continue
        positions = [_position(element) for element in cells[0]]
        bottom = max((y for _, y in positions), default=0)
        lowest: dict[float, float] = {}
        for x, y in positions:
            lowest[x] = max(y, lowest.get(x, y))
        for footer in footers:
            for axis in footer:
                x, y = _position(axis)
                lift = bottom - lowest.get(x, bottom)
                axis.set("transform", f"translate({x:g},{y - lift:g})")


def _position(element: ET.Element) -> tuple[float, float]:
    translation = _TRANSLATION.match(element.get("transform", ""))
    return (float(translation[1]), float(translation[2])) if translation else (0.0, 0.0)


def _tidied_svg(root: ET.Element, prefix: str, title: str, description: str) -> str:
    """Return the SVG text: ids of its own, titles of marks, short numbers, nothing by default."""
    _rename_clips(root, prefix)
    for element in [*root.iter()]:
        label = element.get("aria-label", "").removeprefix("; ")  # from a panel without a name
        if label and _tag(element) in {"path", "rect"}:
            ET.SubElement(element, f"{{{_SVG}}}title").text = label  # the tooltip of the mark
        _shorten_attributes(element)
    _remove_invisible(root)
    _join_lines(root)
    size = {name: root.get(name, "") for name in ("width", "height", "viewBox")}
    root.attrib.clear()
    root.attrib.update(size)
    for name in ("font-family", "font-size"):
        _move_to_root(root, name)
    names = [(kind, text) for kind, text in (("title", title), ("desc", description)) if text]
    for index, (kind, text) in enumerate(names):
        element = ET.Element(f"{{{_SVG}}}{kind}", {"id": f"{prefix}-{kind}"})
        element.text = text
        root.insert(index, element)
    if names:
        root.set("role", "img")
        root.set("aria-labelledby", " ".join(f"{prefix}-{kind}" for kind, _ in names))
    ET.register_namespace("", _SVG)
    return ET.tostring(root, encoding="unicode")


def _shorten_attributes(element: ET.Element) -> None:
    """Drop attributes that change nothing in the drawing, and round coordinates."""
    for name, value in [*element.attrib.items()]:
        is_unused = name.startswith("aria-") or name in _UNUSED_ATTRIBUTES
        if is_unused or _DEFAULTS.get(name) == value:
            del element.attrib[name]
        elif name in _COORDINATE_ATTRIBUTES:
            element.set(name, _DECIMAL_NUMBER.sub(_rounded, value))


def _remove_invisible(root: ET.Element) -> None:
    """Remove elements without ink, such as backgrounds and unused marks of Vega."""
    for parent in [*root.iter()]:
        for element in [*parent]:
            inks = {element.get("fill", "none"), element.get("stroke", "none")}
            has_no_ink = _tag(element) in {"path", "line", "rect"} and inks <= _INVISIBLE_INKS
            is_hidden = has_no_ink or element.get("display") == "none"
            if is_hidden and _tag(parent) != "clipPath":
                parent.remove(element)


def _join_lines(root: ET.Element) -> None:
    """Turn lines that follow each other and look alike, as those of a grid do, into one path."""
    for parent in [*root.iter()]:
        for look, elements in groupby([*parent], key=_look_of_line):
            first, *others = elements
            if look is None or not others:
                continue
            steps = [
                "M{:g},{:g}l{},{}".format(*_position(line), line.get("x2", 0), line.get("y2", 0))
                for line in (first, *others)
            ]
            first.tag = f"{{{_SVG}}}path"
            first.attrib.clear()
            first.attrib.update(look, d="".join(steps))
            for line in others:
                parent.remove(line)


def _look_of_line(element: ET.Element) -> dict[str, str] | None:
    """Return what a line from its position to x2, y2 looks like; None for all other elements."""
    is_plain = _tag(element) == "line" and not len(element) and "opacity" not in element.attrib
    transform = element.get("transform", "")
    if not is_plain or (transform and not _TRANSLATION.match(transform)):
        return None
    ends = ("transform", "x2", "y2")
    return {name: value for name, value in element.attrib.items() if name not in ends}


def _rounded(number: re.Match[str]) -> str:
    text = f"{float(number[0]):.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def _tag(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _move_to_root(root: ET.Element, name: str) -> None:
    """Set the most common value of an attribute once, on the root."""
    values = Counter(value for element in root.iter() if (value := element.get(name)))
    if not values:
        return
    most_common = values.most_common(1)[0][0]
    for element in root.iter():
        if element.get(name) == most_common:
            del element.attrib[name]
    root.set(name, most_common)


def _rename_clips(root: ET.Element, prefix: str) -> None:
    """Number clip paths from 0, as Vega counts on from chart to chart; merge equal ones."""
    names: dict[str, str] = {}
    by_shape: dict[bytes, str] = {}
    for parent in [*root.iter()]:
        for clip in [element for element in parent if _tag(element) == "clipPath"]:
            shape = b"".join(ET.tostring(child) for child in clip)
            is_new = shape not in by_shape
            name = by_shape.setdefault(shape, f"{prefix}-c{len(by_shape)}")
            names[clip.get("id", "")] = name
            clip.set("id", name)
            if not is_new:
                parent.remove(clip)
    for element in root.iter():
        if clip_path := element.get("clip-path"):
            new_path = _CLIP.sub(lambda m: f"url(#{names.get(m[1], m[1])})", clip_path)
            element.set("clip-path", new_path)


# ---- PDF objects in a fixed order: the PDF writer numbers them at random


_OBJECT = re.compile(rb"^(\d+) 0 obj\n(.*?)\nendobj\n", re.DOTALL | re.MULTILINE)
_REFERENCE = re.compile(rb"\b(\d+) 0 R\b")
_REFERENCE_ENTRIES = re.compile(rb"(?:^ +/\w+ \d+ 0 R\n)+", re.MULTILINE)
_STREAM = b"\nstream\n"


def pdf_in_order(pdf: bytes) -> bytes:
    """Return the same document with its objects in the order of references from its root.

    The document must be as vl-convert writes it: plain objects, one table of offsets, one trailer.
    """
    objects = {int(match[1]): match[2].partition(_STREAM) for match in _OBJECT.finditer(pdf)}
    heads = {
        number: _REFERENCE_ENTRIES.sub(_sorted_entries, pdf_object[0])
        for number, pdf_object in objects.items()
    }
    trailer = pdf[pdf.rindex(b"trailer") : pdf.rindex(b"startxref")]
    order = _objects_by_reference(trailer, heads)
    new_numbers = {number: position for position, number in enumerate(order, 1)}

    def renumbered(text: bytes) -> bytes:
        return _REFERENCE.sub(lambda match: b"%d 0 R" % new_numbers[int(match[1])], text)

    document = bytearray(pdf[: next(_OBJECT.finditer(pdf)).start()])
    offsets = []
    for number in order:
        offsets.append(len(document))
        stream = b"".join(objects[number][1:])
        document += b"%d 0 obj\n%b%b\nendobj\n\n" % (
            new_numbers[number],
            renumbered(heads[number]),
            stream,
        )
    start = len(document)
    document += b"xref\n0 %d\n0000000000 65535 f \n" % (len(order) + 1)
    document += b"".join(b"%010d 00000 n \n" % position for position in offsets)
    document += re.sub(rb"/Size \d+", b"/Size %d" % (len(order) + 1), renumbered(trailer))
    return bytes(document) + b"startxref\n%d\n%%%%EOF" % start


def _sorted_entries(entries: re.Match[bytes]) -> bytes:
    return b"".join(sorted(entries[0].splitlines(keepends=True)))


def _objects_by_reference(trailer: bytes, heads: dict[int, bytes]) -> list[int]:
    """Return object numbers in the order in which references lead to them."""
    order: dict[int, None] = {}
    queue = [int(number) for number in _REFERENCE.findall(trailer)]
    while queue:
        number = queue.pop(0)
        if number not in order:
            order[number] = None
            queue += [int(reference) for reference in _REFERENCE.findall(heads[number])]
    return list(order)
