"""Reasons to refuse a fleet operation, each one sentence that names the object."""


class PipelineError(Exception):
    """An operation was refused or failed; no table was left half-written."""


class InventoryError(PipelineError):
    """An input names nothing, or contradicts itself."""


class WarehouseError(PipelineError):
    """A warehouse cannot be read or written."""


class SparkUnavailableError(PipelineError):
    """Spark cannot be started: no Java, no extra `spark`, or a missing package."""


class SparkFailedError(PipelineError):
    """A job of Spark failed."""
