from dataclasses import replace
from itertools import count

import pytest
from fleet_clusters import fleet_cluster
from made_clusters import MadeCluster

from falkirk.pipeline.ingest.file_growth import has_only_grown
from falkirk.pipeline.ingest.run_unit import run_units
from falkirk.pipeline.ingest.survey import IngestOptions, survey_cluster
from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.warehouse.warehouse import Warehouse
from falkirk.storage.posix_disk import PosixDisk


class CutDisk(PosixDisk):
    """A disk whose file is empty for the reads with these numbers, and whole before and after."""

    def __init__(self, cut):
        self._numbers, self._cut = count(), cut

    def read(self, path, position=0, length=None):
        return b"" if next(self._numbers) in self._cut else super().read(path, position, length)


def records_unit(tmp_path):
    Warehouse.make(str(tmp_path / "w"))
    options = IngestOptions(warehouse=str(tmp_path / "w"), tables=frozenset(TABLES), split_bytes=1 << 20)
    made = MadeCluster(root=tmp_path / "c").make()
    survey = survey_cluster(fleet_cluster(made.root), [], options)
    unit = next(unit for unit in survey.units if not unit.is_snapshot)
    return unit, options


def rows(piece):
    return sum(file.rows for file in piece.files)


def test_a_piece_of_whole_bytes_stays_while_its_file_only_grows(tmp_path):
    unit, options = records_unit(tmp_path)
    [(_, piece)] = run_units([unit], options)
    assert rows(piece) > 0
    assert has_only_grown(unit.location, unit.end + 100, piece)


@pytest.mark.parametrize("cut", [{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 1, 2}])
def test_a_file_that_is_cut_while_it_is_read_is_read_again(tmp_path, cut):
    unit, options = records_unit(tmp_path)
    [(_, whole)] = run_units([unit], options)
    [(_, piece)] = run_units([replace(unit, location=replace(unit.location, disk=CutDisk(cut)))], options)
    assert rows(piece) == rows(whole) or not has_only_grown(unit.location, unit.end, piece)


def test_a_file_that_cannot_be_read_is_a_problem_and_is_read_again(tmp_path, monkeypatch):
    unit, options = records_unit(tmp_path)

    def fail(_disk, path, _position=0, _length=None):
        raise OSError(5, "Input/output error", path)

    with monkeypatch.context() as patched:
        patched.setattr(PosixDisk, "read", fail)
        [(_, piece)] = run_units([unit], options)
    assert [file.table for file in piece.files] == ["problems"]
    assert not has_only_grown(unit.location, unit.end, piece)
