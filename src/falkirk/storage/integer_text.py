"""Decimal numbers in Kafka's text files, as Java parses them."""

import re

from falkirk.storage.errors import CorruptFileError

# Python's own int() would also accept underscores, blanks and digits of other scripts.
_DECIMAL = re.compile(r"[+-]?[0-9]{1,19}\Z")


def parse_integer(text: str, *, what: str, bits: int, offset: int, file: str) -> int:
    """Read a signed decimal of at most `bits` bits.

    Raises CorruptFileError that names `what`; `offset` is the start of the line in `file`.
    """
    if _DECIMAL.match(text):
        value = int(text)
        if -(1 << bits - 1) <= value < 1 << bits - 1:
            return value
    raise CorruptFileError(f"{what} is {text!r}, an int{bits} was expected", offset=offset, file=file)
