"""Expected errors: the message on stderr and the exit code of each.

A command raises one of the errors here, or lets an error of a layer below pass. Any other error is a bug, and keeps its
traceback.
"""

from falkirk.cli.console.exit_code import ExitCode

_SPARK = "the fleet commands need the extra `spark` (pip install 'falkirk[spark]')"
EXTRA_MODULES = {
    **dict.fromkeys(("deltalake", "fsspec", "jinja2", "matplotlib", "numpy", "pandas", "pyarrow", "pyspark"), _SPARK),
    "kazoo": "ZooKeeper commands need the extra `zookeeper` (pip install 'falkirk[zookeeper]')",
}
"""Why a module of an extra is missing, by the module's name."""


class CommandFailedError(Exception):
    """The command was refused or failed; the text is complete, and made for the operator."""

    exit_code = ExitCode.FAILED


class WrongUsageError(CommandFailedError):
    """The command line is wrong in a way that Typer cannot find."""

    exit_code = ExitCode.WRONG_USAGE


class DataWouldBeLostError(CommandFailedError):
    """The command was refused because data would be lost."""

    exit_code = ExitCode.DATA_WOULD_BE_LOST


def explain(error: Exception) -> tuple[ExitCode, str] | None:
    """Return exit code and message of an expected error; None for a bug."""
    # The layers below are imported late: most commands touch one or two of them, and none of them fails most times.
    from falkirk.client.errors import ClientError  # noqa: PLC0415
    from falkirk.lift.errors import LossesNotAcceptedError  # noqa: PLC0415
    from falkirk.logdir.errors import LogDirError  # noqa: PLC0415
    from falkirk.metadata.records.errors import MetadataError  # noqa: PLC0415
    from falkirk.mirror.errors import MirrorError  # noqa: PLC0415
    from falkirk.operations.errors import InvalidInputError, OperationError  # noqa: PLC0415
    from falkirk.pipeline.errors import PipelineError  # noqa: PLC0415
    from falkirk.protocol.errors import ProtocolError  # noqa: PLC0415
    from falkirk.versions.errors import VersionsError  # noqa: PLC0415
    from falkirk.watch.errors import WatchError  # noqa: PLC0415

    code, message = ExitCode.FAILED, str(error)
    match error:
        case CommandFailedError():
            code = error.exit_code
        case InvalidInputError():
            code = ExitCode.WRONG_USAGE
        case LossesNotAcceptedError():
            code = ExitCode.DATA_WOULD_BE_LOST
        case LogDirError() if error.would_lose_data:
            code = ExitCode.DATA_WOULD_BE_LOST
        case ModuleNotFoundError(name=str(name)) if (missing := name.partition(".")[0]) in EXTRA_MODULES:
            message = f"{missing} is not installed: {EXTRA_MODULES[missing]}"
        case OSError():
            message = _of_system(error)
        case (
            OperationError()
            | ProtocolError()
            | VersionsError()
            | MetadataError()
            | LogDirError()
            | MirrorError()
            | WatchError()
            | PipelineError()
            | ClientError()
        ):
            pass
        case _:
            return None
    return code, message


def _of_system(error: OSError) -> str:
    if error.filename is None:
        return error.strerror or str(error)
    return f"{error.filename}: {error.strerror}"
