"""The one place that turns an expected error into one message on stderr and an exit code.

A command raises one of the errors here, or lets an error of a layer below pass. An error that is not known here is a
bug of ours and keeps its traceback.
"""

from falkirk.cli.exit_code import ExitCode


class CommandFailedError(Exception):
    """The command was refused or failed; the text is for the operator, and complete."""

    exit_code = ExitCode.FAILED


class WrongUsageError(CommandFailedError):
    """The command line is wrong in a way that only the command can see."""

    exit_code = ExitCode.WRONG_USAGE


class DataWouldBeLostError(CommandFailedError):
    """Refused because data would be lost."""

    exit_code = ExitCode.DATA_WOULD_BE_LOST


_SPARK = "the fleet commands need the extra `spark` (pip install 'falkirk[spark]')"
EXTRA_MODULES = {
    **dict.fromkeys(("fsspec", "jinja2", "matplotlib", "numpy", "pandas", "pyarrow", "pyspark", "yaml"), _SPARK),
    "kazoo": "what asks ZooKeeper needs the extra `zookeeper` (pip install 'falkirk[zookeeper]')",
}
"""What comes with an extra only, and with which."""


def explain(error: Exception) -> tuple[ExitCode, str] | None:
    """Give exit code and message of an expected error; None for a bug of ours."""
    # The layers below are imported late: most commands touch one or two of them, and none of them fails most times.
    from falkirk.client.errors import ClientError  # noqa: PLC0415
    from falkirk.logdir.errors import LogDirError  # noqa: PLC0415
    from falkirk.metadata.errors import MetadataError  # noqa: PLC0415
    from falkirk.pipeline.errors import PipelineError  # noqa: PLC0415
    from falkirk.protocol.errors import ProtocolError  # noqa: PLC0415
    from falkirk.versions.errors import VersionsError  # noqa: PLC0415

    match error:
        case CommandFailedError():
            return error.exit_code, str(error)
        case ModuleNotFoundError(name=str(name)) if (missing := name.partition(".")[0]) in EXTRA_MODULES:
            return ExitCode.FAILED, f"{missing} is not installed: {EXTRA_MODULES[missing]}"
        case LogDirError() if error.would_lose_data:
            return ExitCode.DATA_WOULD_BE_LOST, str(error)
        case ProtocolError() | VersionsError() | MetadataError() | LogDirError() | PipelineError() | ClientError():
            return ExitCode.FAILED, str(error)
        case OSError():
            return ExitCode.FAILED, _of_system(error)
        case _:
            return None


def _of_system(error: OSError) -> str:
    if error.filename is None:
        return error.strerror or str(error)
    return f"{error.filename}: {error.strerror}"
