"""`kafka_segments`: segments of any partition, compressed ones too.

Those of `__consumer_offsets` are rows of `group_records`, all others of `readers.data_records.DATA_RECORDS`.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from falkirk.pipeline.errors import InventoryError
from falkirk.pipeline.readers.data_records import DATA_RECORDS, read_data_records
from falkirk.pipeline.readers.group_records import read_group_records
from falkirk.pipeline.sources.file_format import BatchFormat
from falkirk.pipeline.sources.file_source import FileSource
from falkirk.pipeline.sources.log_files import partition_of, segment_files
from falkirk.pipeline.tables.groups import GROUP_RECORDS
from falkirk.storage.partition_directory import GROUPS_TOPIC, METADATA_TOPIC

if TYPE_CHECKING:
    from falkirk.pipeline.sources.log_files import LogFile


class KafkaSegmentsSource(FileSource):
    """Data source `kafka_segments`."""

    @classmethod
    def name(cls) -> str:
        """Return the name for `format`."""
        return "kafka_segments"

    def files(self) -> list[LogFile]:
        """Find the segments."""
        return segment_files(self.settings.paths, self.settings.topic, check=not self.settings.problems)

    def file_format(self) -> BatchFormat:
        """Return the format of group records, or of any topic's.

        Raises InventoryError if there are both kinds, and for the bytes of the metadata, which have secrets in them.
        """
        if METADATA_TOPIC in self._topics and not (self.settings.keep_secrets or self.settings.problems):
            raise InventoryError(
                f"{', '.join(self.settings.paths)}: the bytes of {METADATA_TOPIC} have passwords and SCRAM credentials "
                "in them: read it with kraft_log, which leaves them out, or set option keepSecrets to true"
            )
        if self._topics == {GROUPS_TOPIC}:
            return BatchFormat(GROUP_RECORDS, read_group_records)
        if GROUPS_TOPIC in self._topics:
            other = next(topic for topic in sorted(map(str, self._topics)) if topic != GROUPS_TOPIC)
            raise InventoryError(
                f"{', '.join(self.settings.paths)}: segments of {GROUPS_TOPIC} and of {other}, whose columns differ; "
                "name one topic in option topic"
            )
        return BatchFormat(DATA_RECORDS, read_data_records)

    @cached_property
    def _topics(self) -> set[str | None]:
        if self.settings.topic is not None:
            return {self.settings.topic}
        directories = [partition_of(file.location.uri.rpartition("/")[0]) for file in self.files()]
        return {None if directory is None else directory.topic for directory in directories}
