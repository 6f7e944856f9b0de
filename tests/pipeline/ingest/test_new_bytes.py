import pytest

from falkirk.pipeline.filesystem import open_location
from falkirk.pipeline.ingest.file_growth import end_crc, fingerprint
from falkirk.pipeline.ingest.new_bytes import SMALL_PIECES_MAX, SourceFile, head_fingerprint, new_bytes
from falkirk.pipeline.ingest.unit import UnitKind
from falkirk.pipeline.warehouse.manifest import Piece


def source(path, kind=UnitKind.GROUP_RECORDS):
    return SourceFile(kind=kind, cluster="a", location=open_location(str(path)), node_id=1)


def piece(path, start, end, kind=UnitKind.GROUP_RECORDS):
    location = open_location(str(path))
    head = head_fingerprint(location, end) if kind is UnitKind.REQUESTS and start == 0 else ""
    return Piece(
        key=f"{kind} {path} {start}",
        kind=kind,
        source=str(path),
        start=start,
        end=end,
        end_crc=end_crc(location, end),
        fingerprint=head,
    )


def whole(location, start, end):
    return [(start, end)]


def ranges(found):
    return [(unit.location.path, unit.start, unit.end) for unit in found.units]


def test_a_new_file_is_read_from_its_beginning(tmp_path):
    file = tmp_path / "a.log"
    file.write_bytes(b"0123456789")
    found = new_bytes([source(file)], [], whole)
    assert (found.kept, ranges(found)) == ([], [(str(file), 0, 10)])
    [unit] = found.units
    assert unit.key == f"group_records {file} 0"


def test_a_file_as_it_was_is_not_read(tmp_path):
    file = tmp_path / "a.log"
    file.write_bytes(b"0123456789")
    before = piece(file, 0, 10)
    found = new_bytes([source(file)], [before], whole)
    assert (found.kept, found.units) == ([before], [])


def test_a_grown_file_is_read_behind_what_is_known(tmp_path):
    file = tmp_path / "a.log"
    file.write_bytes(b"0123456789")
    before = [piece(file, 0, 4), piece(file, 4, 10)]
    with file.open("ab") as out:
        out.write(b"abc")
    found = new_bytes([source(file)], before, whole)
    assert (found.kept, ranges(found)) == (before, [(str(file), 10, 13)])


@pytest.mark.parametrize("now", [b"01234", b"012345678X", b"X12345678Xabc", b""])
def test_a_file_that_was_written_anew_is_read_anew(tmp_path, now):
    file = tmp_path / "a.log"
    file.write_bytes(b"0123456789")
    before = piece(file, 0, 10)
    file.write_bytes(now)
    found = new_bytes([source(file)], [before], whole)
    assert (found.kept, ranges(found)) == ([], [(str(file), 0, len(now))] if now else [])


def test_pieces_of_a_file_that_is_gone_do_not_stay(tmp_path):
    file = tmp_path / "a.log"
    file.write_bytes(b"0123456789")
    before = piece(file, 0, 10)
    assert new_bytes([], [before], whole).kept == []


def test_many_small_pieces_become_one_when_the_file_grows(tmp_path):
    file = tmp_path / "a.log"
    file.write_bytes(bytes(range(SMALL_PIECES_MAX + 1)))
    before = [piece(file, at, at + 1) for at in range(SMALL_PIECES_MAX + 1)]
    assert len(new_bytes([source(file)], before, whole).kept) == len(before)
    with file.open("ab") as out:
        out.write(b"more")
    found = new_bytes([source(file)], before, whole)
    assert (found.kept, ranges(found)) == ([], [(str(file), 0, SMALL_PIECES_MAX + 5)])


def test_a_request_log_that_got_another_name_is_known_by_its_bytes(tmp_path):
    log, rolled = tmp_path / "request.log", tmp_path / "request.log.1"
    log.write_bytes(b"line 1\nline 2\n")
    before = piece(log, 0, 14, UnitKind.REQUESTS)
    log.rename(rolled)
    log.write_bytes(b"line 3\n")
    found = new_bytes([source(log, UnitKind.REQUESTS), source(rolled, UnitKind.REQUESTS)], [before], whole)
    assert [(each.source, each.start, each.end, each.files) for each in found.kept] == [(str(rolled), 0, 14, ())]
    assert ranges(found) == [(str(log), 0, 7)]
    assert {each.key for each in found.kept}.isdisjoint(unit.key for unit in found.units)


def test_a_fingerprint_changes_with_names_bytes_and_facts(tmp_path):
    file, other = tmp_path / "a", tmp_path / "b"
    file.write_bytes(b"x" * 5000)
    other.write_bytes(b"x" * 5000)
    here, there = open_location(str(file)), open_location(str(other))
    first = fingerprint([here], 1)
    assert fingerprint([here], 1) == first
    assert len({first, fingerprint([there], 1), fingerprint([here, there], 1), fingerprint([here], 2)}) == 4
    file.write_bytes(b"x" * 4999 + b"y")
    assert fingerprint([here], 1) != first
