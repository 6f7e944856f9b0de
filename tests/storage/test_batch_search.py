import pytest
from data_logs import stored

from falkirk.storage.batch_search import BatchPlace, find_batch, place_at
from falkirk.storage.errors import CorruptFileError

DATA = b"".join(stored(at * 3, 0, 2, value=b"x" * (at * 400)) for at in range(20))


END = len(DATA)


def found(offset, position=0, end=END):
    return find_batch(lambda at, length: DATA[at : at + length], position, end, offset, file="f")


def test_a_batch_is_found_by_any_offset_up_to_its_last_from_before_or_from_itself():
    position = 0
    for at in range(20):
        size = len(stored(at * 3, 0, 2, value=b"x" * (at * 400)))
        place = BatchPlace(position, size, at * 3, at * 3 + 1)
        assert found(at * 3) == found(at * 3 + 1) == found(max(at * 3 - 1, 0)) == place
        assert found(at * 3, position) == place
        assert found(at * 3, 0, position) is None
        position += size
    assert found(60) is None


def test_headers_that_make_no_sense_are_an_error_and_not_an_endless_search():
    with pytest.raises(CorruptFileError, match=r"f: no batch fits the 100 bytes that are left"):
        found(50, len(DATA) - 100)
    zeros = bytes(200)
    with pytest.raises(CorruptFileError):
        find_batch(lambda at, length: zeros[at : at + length], 0, 200, 5, file="f")
    assert place_at(memoryview(zeros), 0) is None
    assert place_at(memoryview(DATA)[:20], 0) is None
