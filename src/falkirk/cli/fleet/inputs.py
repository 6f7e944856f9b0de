"""The inputs of the fleet commands: files, and a running cluster, whose logs are mirrored to files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from falkirk.cli.console.client_config import read_client_config
from falkirk.cli.console.failure import WrongUsageError
from falkirk.client.config import parse_servers
from falkirk.mirror.cluster_mirror import ClusterMirror, LiveSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.cli.console.options import ConnectionOptions
LIVE_SUFFIX: Final = "-live"
"""What follows a warehouse's name in that of the directory with the logs of running clusters."""


class FleetInputs:
    """`names`: files, and the mirrored logs of the running cluster.

    Raises WrongUsageError without any input; ClientConfigError, OSError for the file of --command-config.
    """

    def __init__(
        self, inputs: Sequence[str] | None, connection: ConnectionOptions, warehouse: str, live_dir: Path | None
    ) -> None:
        self.names = list(inputs or ())
        self._mirror = _live_mirror(connection, warehouse, live_dir)
        if not self.names and self._mirror is None:
            raise WrongUsageError("name inputs, or a running cluster with --bootstrap-server or --bootstrap-controller")

    def refresh(self) -> None:
        """Fetch what is new of the running cluster. Raises ClientError, MirrorError, OSError."""
        if self._mirror is not None:
            directory = str(self._mirror.refresh())
            if directory not in self.names:
                self.names.append(directory)


def _live_mirror(connection: ConnectionOptions, warehouse: str, live_dir: Path | None) -> ClusterMirror | None:
    server, controller = connection.bootstrap_server, connection.bootstrap_controller
    if server is None and controller is None:
        return None
    if live_dir is None and "://" in warehouse:
        raise WrongUsageError(f"{warehouse} is no directory of this machine: name one for the logs with --live-dir")
    source = LiveSource(
        brokers=() if server is None else parse_servers(server),
        controllers=() if controller is None else parse_servers(controller),
        config=read_client_config(connection.command_config),
    )
    return ClusterMirror(Path(warehouse.rstrip("/") + LIVE_SUFFIX) if live_dir is None else live_dir, source)
