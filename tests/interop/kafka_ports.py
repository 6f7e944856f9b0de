"""Free TCP ports on 127.0.0.1 that a node can keep over restarts."""

import fcntl
import os
import random
import socket
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import IO

# Below the ephemeral range of Linux (32768 and up), so that no outgoing connection takes a port while its node is down.
_FIRST = 20_000
_LAST = 32_000
_TRIES_MAX = 1_000
# No test has as many nodes: the ports before are those of tests that are over.
_LEASES_MAX = 1_000
# Unseeded: two test processes need not try the same ports.
_CHANCE = random.SystemRandom()


class _Leases:
    """Ports of this process, whose nodes may be down or not be started yet.

    Each is a locked byte of a file that all test processes of a user share.
    The kernel unlocks it when the process ends.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._held: dict[int, None] = {}

    def take(self, port: int) -> bool:
        """Lease a port; False if this process or another one has it."""
        if self._file is None:
            # Never closed: that would unlock everything.
            self._file = (Path(tempfile.gettempdir()) / f"falkirk-ports-{os.getuid()}").open("ab")
        if port in self._held:
            return False
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
        except OSError:
            return False
        self._held[port] = None
        if len(self._held) > _LEASES_MAX:
            self.drop(next(iter(self._held)))
        return True

    def drop(self, port: int) -> None:
        """End the lease of a port."""
        assert self._file is not None
        del self._held[port]
        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, port)


_LEASES = _Leases()


def free_ports(count: int) -> list[int]:
    """Choose `count` different ports that nothing listens on, and that no test process has chosen and still may use."""
    ports: list[int] = []
    for _ in range(_TRIES_MAX):
        if len(ports) == count:
            return sorted(ports)
        port = _CHANCE.randint(_FIRST, _LAST)
        if _leased(port):
            ports.append(port)
    raise RuntimeError(f"no {count} free ports between {_FIRST} and {_LAST} in {_TRIES_MAX} tries")


def free_move(ports: Collection[int]) -> int:
    """Choose by how much all of `ports` can be moved to ports that are free as those of `free_ports`."""
    for _ in range(_TRIES_MAX):
        move = _CHANCE.randint(_FIRST - min(ports), _LAST - max(ports))
        leased = [port + move for port in ports if _leased(port + move)]
        if len(leased) == len(ports):
            return move
        for port in leased:
            _LEASES.drop(port)
    raise RuntimeError(f"ports {sorted(ports)} are not all free anywhere, in {_TRIES_MAX} tries")


def _leased(port: int) -> bool:
    """Lease a port if nothing listens on it."""
    if not _LEASES.take(port):
        return False
    if _is_free(port):
        return True
    _LEASES.drop(port)
    return False


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As Java does: a port whose last connections are in TIME_WAIT counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
