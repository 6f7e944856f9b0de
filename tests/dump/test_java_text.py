import math

import pytest

from falkirk.dump.java_text import java_double, json_double, json_string
from falkirk.protocol.lax_reader import decoded


# What Java 17 prints.
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (-1048576.0, "-1048576.0"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (12345678.9, "1.23456789E7"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (100.25, "100.25"),
        (1e21, "1.0E21"),
        (1e23, "1.0E23"),
        (2.5e-7, "2.5E-7"),
        (5e-324, "4.9E-324"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_doubles_are_written_as_java_writes_them(value, text):
    assert java_double(value) == text


def test_what_json_has_no_number_for_stands_in_quotes():
    assert [json_double(value) for value in (math.nan, -math.inf, 2.0)] == ['"NaN"', '"-Infinity"', "2.0"]


# What `new String(bytes, UTF_8)` makes of them; ? stands for U+FFFD.
@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("6b", "k"),
        ("d0bad0bb", "кл"),
        ("f09f9982", "🙂"),
        ("ff41fe", "?A?"),
        ("c041", "?A"),
        ("c0af", "??"),
        ("e282", "?"),
        ("e28241", "?A"),
        ("eda08078", "?x"),
        ("eda0", "?"),
        ("eda041", "?A"),
        ("edbfbf", "?"),
        ("f0808080", "????"),
        ("f09f99", "?"),
        ("f4908080", "????"),
        ("e08080", "???"),
    ],
)
def test_bytes_that_are_no_utf8_are_replaced_as_java_replaces_them(data, text):
    assert decoded(bytes.fromhex(data)) == text.replace("?", "\ufffd")


def test_strings_are_quoted_as_jackson_quotes_them():
    assert json_string('a"b\\c\t\n\r\b\f\x00\x1f\x7f/é\u2028🙂') == (
        '"a\\"b\\\\c\\t\\n\\r\\b\\f\\u0000\\u001F\x7f/é\u2028🙂"'
    )
    # A backslash before letters that look like an escape stays what it is.
    assert json_string("\\u00ab\x1b") == '"\\\\u00ab\\u001B"'
