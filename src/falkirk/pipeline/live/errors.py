"""Why a running cluster's logs cannot be fetched."""

from __future__ import annotations

from falkirk.pipeline.errors import PipelineError


class LiveSourceError(PipelineError):
    """A cluster that says what we cannot go on with; the partition and the node are named."""
