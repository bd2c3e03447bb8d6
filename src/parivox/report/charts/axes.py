"""Axes that several charts share: rates on a logarithmic or a probit scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.report.charts.theme import Theme

_PROBIT_TICKS = (1e-5, 1e-4, 0.001, 0.01, 0.05, 0.2, 0.5, 0.8)
_LEAST = 1e-7


def probit(rates: ArrayLike) -> NDArray[np.float64]:
    """Rates on the axis of a normal deviate."""
    from scipy.special import ndtri  # noqa: PLC0415 - most of the import's time

    return np.asarray(ndtri(np.asarray(rates, dtype=np.float64)))


def probit_axis(title: str | None, least: float, most: float) -> dict[str, Any]:
    """Scale and axis of a rate on probits, labelled in percent."""
    rates = [rate for rate in _PROBIT_TICKS if least <= rate <= most]
    places = probit(rates).round(6).tolist()
    told = " : ".join(
        f"abs(datum.value - {place:.6f}) < 1e-4 ? '{100 * rate:g}'"
        for place, rate in zip(places, rates, strict=True)
    )
    return {
        "title": title,
        "scale": {"domain": probit([least, most]).round(6).tolist(), "nice": False},
        "axis": {
            "values": places,
            "tickCount": len(places),  # else Vega leaves some out
            "labelExpr": f"{told} : ''",
            "labelOverlap": False,
        },
    }


def log_domain(values: Sequence[float | None], *, most: float = np.inf) -> tuple[float, float]:
    """A little more than what positive values span on a logarithmic axis."""
    positive = [v for v in values if v is not None and 0 < v < np.inf]
    if not positive:
        return 0.01, 1.0
    low, high = max(min(positive), _LEAST), max(positive)
    return low / 1.25, max(min(high * 1.25, most), low * 1.5)


def ticks(low: float, high: float) -> list[float]:
    """Places to label on a logarithmic axis: powers of ten, with 2 and 5 where these are few.

    Examples
    --------
    >>> ticks(0.004, 0.3), ticks(0.4, 3)
    ([0.01, 0.03, 0.1, 0.3], [0.5, 1.0, 2.0])
    """
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
        places = [float(f"{s * 10.0**p:.12g}") for p in powers for s in steps]
        found = [x for x in places if low <= x <= high]
        if len(found) >= 3:
            break
    return found


def as_logs(
    title: str | None, low: float, high: float, *, percent: bool = True, **axis: Any
) -> dict[str, Any]:
    """Scale and axis of a rate, or of a ratio, on a logarithmic scale."""
    ends = [float(f"{end:.5g}") for end in (low, high)]
    label = "format(100 * datum.value, '~r')" if percent else "format(datum.value, '~r')"
    return {
        "title": title,
        "scale": {"type": "log", "domain": ends, "nice": False, "clamp": True},
        "axis": {"values": ticks(low, high), "labelExpr": label, **axis},
    }


def simplified(
    x: NDArray[np.float64], y: NDArray[np.float64], *, by: float = 0.01
) -> NDArray[np.intp]:
    """Indices of points that draw the same line to the eye: none left out is further off than `by`.

    Examples
    --------
    >>> import numpy as np
    >>> simplified(np.arange(5.0), np.array([0, 1, 2, 1, 0.0])).tolist()
    [0, 2, 4]
    """
    kept = {0, x.size - 1}
    parts = [(0, x.size - 1)] if x.size > 2 else []
    while parts:
        first, last = parts.pop()
        across, up = x[last] - x[first], y[last] - y[first]
        inner = slice(first + 1, last)
        length = np.hypot(across, up)
        dx, dy = x[inner] - x[first], y[inner] - y[first]
        off = np.abs(across * dy - up * dx) / length if length else np.hypot(dx, dy)
        if off.size and off.max() > by:
            middle = first + 1 + int(off.argmax())
            kept.add(middle)
            parts += [(first, middle), (middle, last)]
    return np.array(sorted(kept), dtype=np.intp)


_ACROSS = 4


def across(panels: int, theme: Theme) -> int:
    """How many panels stand in a row: as many as there is room for, in rows of even length."""
    most = min(panels, 2 if theme.is_narrow else _ACROSS)
    rows = -(-panels // most)
    return -(-panels // rows)
