"""Options of sources: what is asked is checked, and a mistake is one sentence that names it."""

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from falkirk.pipeline.errors import InventoryError
from falkirk.pipeline.readers.splits import SPLIT_BYTES
from falkirk.pipeline.sources.source_options import SourceOptions, parse_options


def test_a_path_suffices():
    found = parse_options("kraft_log", {"path": "/d0"})
    assert found == SourceOptions(paths=("/d0",), zone=ZoneInfo("UTC"))
    assert (found.problems, found.split_bytes, found.keep_secrets) == (False, SPLIT_BYTES, False)
    assert SourceOptions(paths=()).zone is UTC


def test_names_do_not_depend_on_case_and_paths_may_be_many():
    found = parse_options(
        "request_log",
        {
            "PATHS": '["a", "s3://b/c"]',
            "Problems": "TRUE",
            "splitbytes": "8m",
            "topic": "orders",
            "TIMEZONE": "Europe/Berlin",
            "keepSecrets": "true",
        },
    )
    assert found == SourceOptions(
        paths=("a", "s3://b/c"),
        problems=True,
        split_bytes=8 << 20,
        topic="orders",
        zone=ZoneInfo("Europe/Berlin"),
        keep_secrets=True,
    )


@pytest.mark.parametrize(("text", "size"), [("1", 1), ("32M", 32 << 20), ("4kb", 4096), ("2g", 2 << 30), (" 7 ", 7)])
def test_sizes_may_have_units(text, size):
    assert parse_options("kraft_log", {"path": "x", "splitBytes": text}).split_bytes == size


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "kraft_log: no path is named; load a file, a directory, a pattern or a URI"),
        ({"path": ""}, "kraft_log: no path is named; load a file, a directory, a pattern or a URI"),
        ({"paths": '["a", ""]'}, "kraft_log: no path is named; load a file, a directory, a pattern or a URI"),
        ({"path": "x", "problem": "true"}, "kraft_log has no option problem; it has path, paths, problems, splitBytes"),
        ({"path": "x", "problems": "yes"}, "option problems is 'yes'; it must be true or false"),
        ({"path": "x", "splitBytes": "0"}, "option splitBytes is '0'; it must be a number of bytes"),
        ({"path": "x", "splitBytes": "-5"}, "option splitBytes is '-5'; it must be a number of bytes"),
        ({"path": "x", "splitBytes": "lots"}, "option splitBytes is 'lots'; it must be a number"),
        ({"path": "x", "keepSecrets": "lots"}, "option keepSecrets is 'lots'; it must be true or false"),
        ({"path": "x", "timeZone": "Mars/Olympus"}, "option timeZone is 'Mars/Olympus'; it must be a zone like UTC"),
        ({"path": "x", "timeZone": "../etc"}, "option timeZone is '../etc'; it must be a zone like UTC"),
    ],
)
def test_a_mistake_is_named(options, sentence):
    with pytest.raises(InventoryError) as raised:
        parse_options("kraft_log", options)
    assert str(raised.value).startswith(sentence)
