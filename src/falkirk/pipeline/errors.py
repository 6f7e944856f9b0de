"""Why a fleet operation is refused, as one sentence for the operator that names the thing."""


class PipelineError(Exception):
    """Something is refused or failed; no table was left half-written."""


class InventoryError(PipelineError):
    """An input that names nothing, or that contradicts itself."""


class WarehouseError(PipelineError):
    """A warehouse that cannot be read or written."""


class SparkUnavailableError(PipelineError):
    """Spark cannot be started here: no Java, no extra `spark`, or a package that is missing."""
