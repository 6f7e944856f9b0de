"""Free TCP ports on 127.0.0.1 that a node can keep over restarts."""

import random
import socket

# Below the ephemeral range of Linux (32768 and up), so that no outgoing connection takes a port while its node is down.
_FIRST = 20_000
_LAST = 32_000
_TRIES_MAX = 1_000
# Unseeded: two test processes must not draw the same ports.
_CHANCE = random.SystemRandom()


def free_ports(count: int) -> list[int]:
    """Choose `count` different ports that nothing listens on at the moment."""
    ports: set[int] = set()
    for _ in range(_TRIES_MAX):
        if len(ports) == count:
            return sorted(ports)
        port = _CHANCE.randint(_FIRST, _LAST)
        if _is_free(port):
            ports.add(port)
    raise RuntimeError(f"no {count} free ports between {_FIRST} and {_LAST} in {_TRIES_MAX} tries")


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As Java does: a port whose last connections are in TIME_WAIT counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
