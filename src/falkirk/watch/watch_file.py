"""The file of a watch, `watch.yaml`: the clusters, the journal, alarms, and where metrics and the page are served.

clusters:
  - {name: prod, bootstrap_servers: [kafka-1:9092, kafka-2:9092], command_config: client.properties}
journal: watch.sqlite
metrics: 127.0.0.1:9406
page: 127.0.0.1:8406
alarms:
  webhooks: [{url: "https://alarms.example/hook", secret_file: hook.secret}]
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import yaml

from falkirk.client.config import ClientConfig, parse_servers
from falkirk.client.errors import ClientConfigError
from falkirk.mirror.cluster_mirror import LiveSource
from falkirk.protocol.endpoint import Endpoint, read_port
from falkirk.storage.properties_file import parse_properties
from falkirk.watch.alarms import DEFAULT_KINDS, Channel, Command, LogLine, Webhook
from falkirk.watch.core.findings import EventKind  # noqa: TC001 - msgspec reads annotations
from falkirk.watch.errors import WatchError
from falkirk.watch.follower import Pace

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_BYTES_MAX: Final = 1 << 20
_Texts = Annotated[list[str], msgspec.Meta(min_length=1)]
_Seconds = Annotated[float, msgspec.Meta(gt=0)]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
_Bytes = Annotated[int, msgspec.Meta(gt=0)]


class WatchedCluster(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A cluster; `name` is what metrics, alarms and the page call it. The configs name files of client properties.

    `lift`: the directory of a lift of this cluster, whose steps the page shows.
    """

    name: _Name
    bootstrap_servers: _Texts
    bootstrap_controllers: list[str] = []
    command_config: str | None = None
    controller_command_config: str | None = None
    lift: str | None = None

    @property
    def connection(self) -> str:
        """The options by which Kafka's tools and falkirk's reach it."""
        words = ["--bootstrap-server", ",".join(self.bootstrap_servers)]
        if self.command_config is not None:
            words += ["--command-config", self.command_config]
        return shlex.join(words)

    def source(self, folder: Path) -> LiveSource:
        """Return where it is reached; files are relative to `folder`. Raises WatchError naming cluster and field."""
        try:
            config = _client_config(self.command_config, folder)
            return LiveSource(
                brokers=parse_servers(",".join(self.bootstrap_servers)),
                controllers=parse_servers(",".join(self.bootstrap_controllers)) if self.bootstrap_controllers else (),
                config=config,
                controller_config=_client_config(self.controller_command_config, folder)
                if self.controller_command_config is not None
                else config,
            )
        except (ClientConfigError, OSError) as error:
            raise WatchError(f"cluster {self.name}: {error}") from error


class WebhookAlarm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A webhook. `secret_file`: of the HMAC; `kinds`: of events."""

    url: str
    secret_file: str | None = None
    kinds: list[EventKind] | None = None


class CommandAlarm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command for `/bin/sh -c`; `kinds`: of events."""

    command: str
    kinds: list[EventKind] | None = None


class Alarms(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who gets alarms. `log`: a line on stderr."""

    log: bool = True
    webhooks: list[WebhookAlarm] = []
    exec: list[CommandAlarm] = []


class PaceLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often a cluster is asked, and how much is fetched of it at most; what is older than `fresh_s` is unknown."""

    fetch_bytes_per_s: _Bytes = Pace().fetch_bytes_per_s
    topics_interval_s: _Seconds = Pace().topics_interval_s
    nodes_interval_s: _Seconds = Pace().nodes_interval_s
    fresh_s: _Seconds = Pace().fresh_s


class WatchFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file's fields. `metrics`, `page`: host and port to listen at; None: not at all.

    Paths are relative to the file. `page_token_file`: what readers of the page must know, if it listens elsewhere than
    on the loopback.
    """

    clusters: Annotated[list[WatchedCluster], msgspec.Meta(min_length=1)]
    journal: str | None = None
    metrics: str | None = None
    page: str | None = None
    page_token_file: str | None = None
    alarms: Alarms = Alarms()
    pace: PaceLimits = PaceLimits()

    @property
    def metrics_endpoint(self) -> Endpoint | None:
        """Where metrics are served. Raises WatchError."""
        return None if self.metrics is None else listening_endpoint("metrics", self.metrics)

    @property
    def page_endpoint(self) -> Endpoint | None:
        """Where the page is served. Raises WatchError."""
        return None if self.page is None else listening_endpoint("page", self.page)

    def page_token(self, folder: Path) -> str | None:
        """Read the token of the page; None if there is none. Raises WatchError."""
        if self.page_token_file is None:
            return None
        return _secret_of("page_token_file", folder / self.page_token_file).decode("utf-8", "replace")

    def make_pace(self) -> Pace:
        """Return the pace of every cluster."""
        limits = self.pace
        return Pace(
            fetch_bytes_per_s=limits.fetch_bytes_per_s,
            topics_interval_s=limits.topics_interval_s,
            nodes_interval_s=limits.nodes_interval_s,
            fresh_s=limits.fresh_s,
        )

    def channels(self, folder: Path) -> tuple[Channel, ...]:
        """Return the receivers of alarms. Raises WatchError."""
        found: list[Channel] = [LogLine(DEFAULT_KINDS)] if self.alarms.log else []
        for number, hook in enumerate(self.alarms.webhooks):
            if not hook.url.startswith(("http://", "https://")):
                raise WatchError(
                    f"alarms.webhooks[{number}].url: {hook.url!r} begins with neither http:// nor https://"
                )
            found.append(Webhook(hook.url, _secret(hook, number, folder), _kinds(hook.kinds)))
        found += [Command(each.command, _kinds(each.kinds)) for each in self.alarms.exec]
        names = [channel.name for channel in found]
        for name in names:
            if names.count(name) > 1:
                raise WatchError(f"alarms: {name} is there twice")
        return tuple(found)


def read_watch_file(path: Path) -> WatchFile:
    """Read and check a watch file. Raises WatchError naming file and field."""
    try:
        with path.open("rb") as file:
            data = file.read(_BYTES_MAX + 1)
    except OSError as error:
        raise WatchError(f"{path}: {error.strerror}") from error
    if len(data) > _BYTES_MAX:
        raise WatchError(f"{path}: more than {_BYTES_MAX} bytes")
    try:
        read = msgspec.convert(yaml.safe_load(data), WatchFile)
    except msgspec.ValidationError as invalid:
        raise WatchError(f"{path}: {invalid}") from invalid
    # As in a lift file.
    except (yaml.YAMLError, ValueError, RecursionError) as malformed:
        raise WatchError(f"{path}: {' '.join(str(malformed).split())}") from malformed
    pace = read.pace
    if pace.fresh_s <= max(pace.topics_interval_s, pace.nodes_interval_s):
        raise WatchError(f"{path}: pace: fresh_s is not above topics_interval_s and nodes_interval_s")
    names = [cluster.name for cluster in read.clusters]
    for name in names:
        if names.count(name) > 1:
            raise WatchError(f"{path}: clusters: the name {name} is there twice")
    return read


def lifts_of(clusters: Iterable[WatchedCluster], folder: Path) -> dict[str, Path]:
    """Return the directories of the lifts of clusters, by name."""
    return {each.name: folder / each.lift for each in clusters if each.lift is not None}


def listening_endpoint(field: str, text: str) -> Endpoint:
    """Parse a host and port to listen at, of this machine alone without a host; port 0 is any. Raises WatchError."""
    host, _, number = text.rpartition(":")
    port = read_port(number)
    host = host if ":" in text else "127.0.0.1"
    if not host or port is None:
        raise WatchError(f"{field}: {text!r} is no host:port")
    return Endpoint(host.strip("[]"), port)


def _client_config(file: str | None, folder: Path) -> ClientConfig:
    if file is None:
        return ClientConfig()
    path = folder / file
    return ClientConfig.from_properties(parse_properties(path.read_bytes(), file=str(path)).as_dict())


def _secret(hook: WebhookAlarm, number: int, folder: Path) -> bytes | None:
    if hook.secret_file is None:
        return None
    return _secret_of(f"alarms.webhooks[{number}].secret_file", folder / hook.secret_file)


def _secret_of(field: str, path: Path) -> bytes:
    try:
        secret = path.read_bytes().strip()
    except OSError as error:
        raise WatchError(f"{field}: {path}: {error.strerror}") from error
    if not secret:
        raise WatchError(f"{field}: {path} is empty")
    return secret


def _kinds(kinds: list[EventKind] | None) -> frozenset[EventKind]:
    return DEFAULT_KINDS if kinds is None else frozenset(kinds)
