"""What is in the way in nodes' `server.properties`: for falkirk in a node's place, and for the target's binaries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.ledger.findings import Blocker, BlockerKind, LedgerWarning, WarningKind
from falkirk.node.config.java_classes import missing_classes
from falkirk.node.config.node_config import CONTROLLER
from falkirk.node.config.server_properties import read_security_settings, read_server_properties
from falkirk.server.config_values import read_node_properties
from falkirk.versions.configs.definition import ConfigError
from falkirk.versions.release import latest_release

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping
    from pathlib import Path

    from falkirk.versions.release import Release
# Advertised where a listener names no host, which plays no part here.
_HOST: Final = "localhost"


def unsupported_classes(where: str, properties: Mapping[str, str | None]) -> Iterator[Blocker]:
    """Yield a blocker for each class that falkirk cannot run. `where`: the file, or the node whose configs they are."""
    for key, name in missing_classes(properties):
        yield _unsupported(where, key, f"falkirk has no {name}")


def findings_of_file(file: Path, target: Release) -> Iterator[Blocker | LedgerWarning]:
    """Yield what falkirk cannot run of a node's file, and what the target's binaries refuse or ignore of it.

    Its variables are read here, so that it is checked best where the node runs. Only a controller's file has to run
    under falkirk. Raises OSError, CorruptFileError.
    """
    where = str(file)
    try:
        properties = read_node_properties(file)
    except ConfigError as missing:
        yield _unsupported(where, str(missing).partition(":")[0], str(missing))
        return
    if CONTROLLER in properties.get("process.roles", ""):
        yield from unsupported_classes(where, properties)
        try:
            read_security_settings(read_server_properties(properties, latest_release(), hostname=_HOST))
        except ConfigError as error:
            for line in str(error).splitlines():
                yield _unsupported(where, _key_of(line, properties), line)
    try:
        warnings = read_server_properties(properties, target, hostname=_HOST).warnings
    except ConfigError as refusal:
        for line in str(refusal).splitlines():
            yield Blocker(
                kind=BlockerKind.REFUSED_BY_TARGET,
                fields={"path": where, "key": _key_of(line, properties), "release": target.name},
                text=f"{where}: Kafka {target.word} does not start with it: {line}",
            )
        return
    for warning in warnings:
        yield LedgerWarning(
            kind=WarningKind.IGNORED_BY_TARGET,
            fields={"path": where, "release": target.name},
            text=f"{where}: in Kafka {target.word}: {warning}",
        )


def without_accepted(blockers: Iterable[Blocker], accepted: Container[str]) -> Iterator[Blocker]:
    """Yield the blockers but those of unsupported configs whose key was accepted."""
    for blocker in blockers:
        if blocker.kind is not BlockerKind.UNSUPPORTED_CONFIG or blocker.fields["key"] not in accepted:
            yield blocker


def _unsupported(where: str, key: str, reason: str) -> Blocker:
    return Blocker(
        kind=BlockerKind.UNSUPPORTED_CONFIG,
        fields={"where": where, "key": key, "reason": reason},
        text=f"{where}: {key}: {reason.removeprefix(f'{key}: ')} (--accept {key} goes on without it)",
    )


def _key_of(line: str, properties: Mapping[str, str]) -> str:
    """Return the longest key that the refusal names; empty if it names none."""
    return max((key for key in properties if key in line), key=len, default="")
