"""Options with which the fleet commands ask a running cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from falkirk.cli.failure import WrongUsageError
from falkirk.client.config import ClientConfig, parse_servers
from falkirk.storage.properties_file import parse_properties

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.pipeline.live.cluster_mirror import ClusterMirror

LIVE_SUFFIX: Final = "-live"
"""Behind a warehouse's name: where the logs of running clusters are."""


class FleetInputs:
    """What a fleet command reads: files, and a running cluster, whose logs become files first."""

    def __init__(self, inputs: Sequence[str] | None, mirror: ClusterMirror | None) -> None:
        if not inputs and mirror is None:
            raise WrongUsageError("name inputs, or a running cluster with --bootstrap-server or --bootstrap-controller")
        self.names = list(inputs or ())
        self._mirror = mirror

    def refresh(self) -> None:
        """Fetch what is new. Raises ClientError, LiveSourceError, OSError."""
        if self._mirror is not None:
            directory = str(self._mirror.refresh())
            if directory not in self.names:
                self.names.append(directory)


def live_mirror(
    warehouse: str,
    *,
    bootstrap_server: str | None,
    bootstrap_controller: str | None,
    command_config: str | None,
    live_dir: Path | None,
) -> ClusterMirror | None:
    """Give what fetches the logs of the cluster that options name; None if they name none.

    Raises WrongUsageError, ClientConfigError, OSError for the file of --command-config.
    """
    if bootstrap_server is None and bootstrap_controller is None:
        return None
    if live_dir is None and "://" in warehouse:
        raise WrongUsageError(f"{warehouse} is no directory of this machine: name one for the logs with --live-dir")
    from falkirk.pipeline.live.cluster_mirror import ClusterMirror, LiveSource  # noqa: PLC0415 - the extra `spark`

    properties = {}
    if command_config is not None:
        properties = parse_properties(Path(command_config).read_bytes(), file=command_config).as_dict()
    source = LiveSource(
        brokers=() if bootstrap_server is None else parse_servers(bootstrap_server),
        controllers=() if bootstrap_controller is None else parse_servers(bootstrap_controller),
        config=ClientConfig.from_properties(properties),
    )
    return ClusterMirror(Path(warehouse.rstrip("/") + LIVE_SUFFIX) if live_dir is None else live_dir, source)
