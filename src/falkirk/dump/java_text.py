"""Text as Java formats it: doubles, and JSON strings as Jackson quotes them."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Final

_PLAIN_MIN, _PLAIN_MAX = 1e-3, 1e7
_ESCAPE: Final = re.compile(r"\\(?:u00([0-9a-f]{2})|.)")


def java_double(value: float) -> str:
    """Format a number like `Double.toString`: at least one digit after the point, an exponent outside 1e-3 .. 1e7.

    The digits are the fewest that identify the number, as since Java 19; older ones print a digit more in rare cases.
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if value == 0:
        return sign + "0.0"
    digits, point = _fewest_digits(abs(value))
    if not _PLAIN_MIN <= abs(value) < _PLAIN_MAX:
        return f"{sign}{digits[0]}.{digits[1:] or '0'}E{point - 1}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    digits = digits.ljust(point, "0")
    return f"{sign}{digits[:point]}.{digits[point:] or '0'}"


def json_double(value: float) -> str:
    """Format a number like Jackson, which quotes what JSON has no number for."""
    text = java_double(value)
    return text if math.isfinite(value) else f'"{text}"'


def json_string(text: str) -> str:
    """Quote a string like Jackson: non-ASCII characters as they are, control characters in capital hex digits."""
    quoted: str = encode_basestring(text)
    return _ESCAPE.sub(_capital_escape, quoted) if "\\u" in quoted else quoted


def _fewest_digits(value: float) -> tuple[str, int]:
    """Return digits and `point`: the number is 0.DIGITS times ten to the power of `point`."""
    text = repr(value)
    # Java writes two digits at least, and the second need not be a zero: the least double is 4.9E-324, not 5.0E-324.
    two_digits = f"{value:.1e}"
    if len(Decimal(text).normalize().as_tuple().digits) == 1 and float(two_digits) == value:
        text = two_digits
    _, digits, exponent = Decimal(text).normalize().as_tuple()
    assert isinstance(exponent, int), "the number is finite"
    return "".join(map(str, digits)), len(digits) + exponent


def _capital_escape(match: re.Match[str]) -> str:
    return f"\\u00{match[1].upper()}" if match[1] else match[0]
