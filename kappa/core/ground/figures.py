"""Format numbers for people: four significant digits, grouped thousands, no false precision."""

import datetime
import math
from collections.abc import Iterator, Sequence

NARROW_SPACE = "\N{NARROW NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
NOTHING = "\N{EN DASH}"


def figure(value: float, digits: int = 4) -> str:
    """Return ``value`` with ``digits`` significant digits. Below 10 million, keep all digits before the point."""
    if not math.isfinite(value):
        return str(value).replace("-", MINUS)
    magnitude = math.floor(math.log10(abs(value))) if value else 0
    if value and not -4 < magnitude < 7:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        text = f"{_trimmed(mantissa)}e{int(exponent)}"
    else:
        text = _trimmed(f"{value:,.{max(0, digits - 1 - magnitude)}f}").replace(",", NARROW_SPACE)
    return text.replace("-", MINUS)


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def figure_apart(value: float, bound: float) -> str:
    """Return ``value`` with as many digits as needed to differ from ``bound``."""
    for digits in range(4, 17):
        if figure(value, digits) != figure(bound, digits):
            return figure(value, digits)
    return repr(value)


def allowed(lower: float, upper: float) -> str:
    """Return the values that bounds allow: ``≥ 20``, ``≤ 500``, ``0.9 … 1.1``, or a dash without bounds."""
    low, high = math.isfinite(lower), math.isfinite(upper)
    if low and high:
        return f"{figure(lower)} … {figure(upper)}" if lower != upper else f"= {figure(lower)}"
    return f"≥ {figure(lower)}" if low else f"≤ {figure(upper)}" if high else NOTHING


def percent(value: float | None) -> str:
    """Return a signed deviation, for instance ``+3.2`` or ``+12``, without the per cent sign."""
    if value is None:
        return NOTHING
    if round(value, 1) == 0:
        return "0"
    text = f"{value:+.1f}" if abs(value) < 10 else f"{value:+,.0f}".replace(",", NARROW_SPACE)
    return text.replace("-", MINUS)


def duration(seconds: float | None) -> str:
    """Return a duration in its two largest units, for instance ``3.8 s`` or ``1 h 12 min``."""
    if seconds is None:
        return NOTHING
    if seconds < 60 or not math.isfinite(seconds):
        return f"{figure(seconds, 2)} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def moment(text: str) -> str:
    """Return ReFrame's ``20261121T043820+0000`` as ``2026-11-21 04:38:20 +0000``, and any other text unchanged."""
    try:
        parsed = datetime.datetime.strptime(text, "%Y%m%dT%H%M%S%z")
    except ValueError:
        return text or "unknown time"
    return parsed.strftime("%Y-%m-%d %H:%M:%S %z")


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a line for each row, with its cells in columns, two blanks apart."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def counted(number: int, singular: str, plural: str = "") -> str:
    return f"{number} {singular if number == 1 else plural or singular + 's'}"
