"""The first voters of a dynamic quorum, `id@host:port:directory,...` (KIP-853, --initial-controllers)."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import AddressValueError, IPv6Address
from typing import TYPE_CHECKING, Final

from falkirk.protocol.errors import LocalProtocolError
from falkirk.protocol.messages.voters_record import Endpoint, KRaftVersionFeature, Voter, VotersRecord
from falkirk.protocol.uuid import parse_uuid
from falkirk.storage.formatting.errors import FormatterError

if TYPE_CHECKING:
    from collections.abc import Iterable

_KRAFT_VERSION_MAX: Final = 1
_PORT_MAX: Final = 65535
_INT32_MAX: Final = (1 << 31) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicVoter:
    """One voter and its endpoint for the quorum. An empty `host` is the local host."""

    node_id: int
    host: str
    port: int
    directory_id: bytes


def parse_dynamic_voters(text: str) -> dict[int, DynamicVoter]:
    """Read voters, in ascending order of ids. Raises FormatterError in Kafka's words (DynamicVoter, DynamicVoters)."""
    voters: dict[int, DynamicVoter] = {}
    for part in text.strip().split(","):
        if part:
            voter = _parse_voter(part.strip())
            if voter.node_id in voters:
                raise FormatterError(f"Node id {voter.node_id} was specified more than once.")
            voters[voter.node_id] = voter
    if not voters:
        raise FormatterError("No voters given.")
    return dict(sorted(voters.items()))


def voters_record(voters: dict[int, DynamicVoter], listener_name: str) -> VotersRecord:
    """Return the control record of these voters, in the order in which Kafka's tool writes them."""
    return VotersRecord(
        voters=[
            Voter(
                voter_id=voter.node_id,
                voter_directory_id=voter.directory_id,
                endpoints=[Endpoint(name=listener_name.upper(), host=_java_host(voter.host), port=voter.port)],
                kraft_version_feature=KRaftVersionFeature(max_supported_version=_KRAFT_VERSION_MAX),
            )
            for voter in map(voters.__getitem__, _java_order(voters))
        ]
    )


def _parse_voter(text: str) -> DynamicVoter:
    node_id, at_sign, address = text.partition("@")
    if not at_sign:
        raise FormatterError("No @ found in dynamic voter string.")
    if not node_id:
        raise FormatterError("Invalid @ at beginning of dynamic voter string.")
    number = _integer(node_id)
    if number is None:
        raise FormatterError("Failed to parse node id in dynamic voter string.")
    if number < 0:
        raise FormatterError(f"Invalid negative node id {number} in dynamic voter string.")
    if not address:
        raise FormatterError("No hostname found after node id.")
    host, rest = _split_host(address)
    port, colon, directory_id = rest.partition(":")
    if not colon:
        raise FormatterError("No colon following port could be found.")
    return DynamicVoter(node_id=number, host=host, port=_port(port), directory_id=_directory_id(directory_id))


def _split_host(address: str) -> tuple[str, str]:
    """Return the host, and what follows the colon behind it."""
    if address.startswith("["):
        host, bracket, rest = address[1:].partition("]")
        if not bracket:
            raise FormatterError("Hostname began with left bracket, but no right bracket was found.")
        if not rest.startswith(":"):
            raise FormatterError("Port section must start with a colon.")
        return host, rest[1:]
    host, colon, rest = address.partition(":")
    if not colon:
        raise FormatterError("No colon following hostname could be found.")
    return host, rest


def _port(text: str) -> int:
    port = _integer(text)
    if port is None:
        raise FormatterError("Failed to parse port in dynamic voter string.")
    if not 0 <= port <= _PORT_MAX:
        raise FormatterError(f"Invalid port {port} in dynamic voter string.")
    return port


def _directory_id(text: str) -> bytes:
    try:
        return parse_uuid(text)
    except LocalProtocolError as error:
        raise FormatterError("Failed to parse directory ID in dynamic voter string.") from error


def _integer(text: str) -> int | None:
    digits = text.removeprefix("-") if text.startswith("-") else text.removeprefix("+")
    if not (digits.isascii() and digits.isdigit()):
        return None
    number = int(text)
    return number if -_INT32_MAX - 1 <= number <= _INT32_MAX else None


def _java_host(host: str) -> str:
    # As InetSocketAddress prints it: IPv6 addresses without their short form.
    if not host:
        return "localhost"
    try:
        address = int(IPv6Address(host))
    except AddressValueError:
        return host
    return ":".join(f"{address >> shift & 0xFFFF:x}" for shift in range(112, -1, -16))


def _java_order(ids: Iterable[int]) -> list[int]:
    """Order ascending ids as Kafka has them: iterated from a HashMap that grew, then from a copy of it."""
    ordered = list(ids)
    grown = 16
    while len(ordered) > grown * 3 // 4:
        grown *= 2
    copied = 1 << (int(len(ordered) / 0.75 + 1) - 1).bit_length()
    for buckets in (grown, copied):
        ordered.sort(key=lambda node_id: (node_id ^ node_id >> 16) % buckets)
    return ordered
