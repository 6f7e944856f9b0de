"""`kraft_log`: segments and snapshots of metadata partitions as rows of `metadata_records`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.pipeline.readers.metadata_records import read_metadata_records
from falkirk.pipeline.sources.file_format import BatchFormat
from falkirk.pipeline.sources.file_source import FileSource
from falkirk.pipeline.sources.log_files import metadata_files
from falkirk.pipeline.tables.metadata_records import METADATA_RECORDS

if TYPE_CHECKING:
    from falkirk.pipeline.sources.log_files import LogFile


class KraftLogSource(FileSource):
    """Data source `kraft_log`."""

    @classmethod
    def name(cls) -> str:
        """Return the name for `format`."""
        return "kraft_log"

    def files(self) -> list[LogFile]:
        """Find the segments and snapshots."""
        return metadata_files(self.settings.paths, check=not self.settings.problems)

    def file_format(self) -> BatchFormat:
        """Return the format of metadata records."""
        return BatchFormat(METADATA_RECORDS, read_metadata_records)
