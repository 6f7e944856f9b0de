"""`request_log`: request logs of Kafka and of falkirk as rows of `requests`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.pipeline.sources.file_format import RequestLogFormat
from falkirk.pipeline.sources.file_source import FileSource
from falkirk.pipeline.sources.log_files import request_log_files

if TYPE_CHECKING:
    from falkirk.pipeline.sources.log_files import LogFile


class RequestLogSource(FileSource):
    """Data source `request_log`."""

    @classmethod
    def name(cls) -> str:
        """Return the name for `format`."""
        return "request_log"

    def files(self) -> list[LogFile]:
        """Find the request logs."""
        return request_log_files(self.settings.paths, check=not self.settings.problems)

    def file_format(self) -> RequestLogFormat:
        """Return the format of request logs."""
        return RequestLogFormat(self.settings.zone)
