"""One connection as a state machine, in either role: bytes in, events out; messages in, bytes out.

A server tells what was asked and puts the answers into the order of the requests. A client numbers its requests and
knows what each answer belongs to. Neither decodes a body unless it is asked to, so that a cache may answer from bytes.

    connection = Connection(role=Role.SERVER, supported=release.api_ranges(listener))
    for event in connection.receive_data(data):  # raises RemoteProtocolError: close the connection
        match event:
            case RequestReceived():
                data = connection.send_response(event, answer(event.message()))  # empty: it waits for earlier ones
            case UnsupportedVersionReceived():
                data = connection.send_response(event, own_api_versions_range)
            case UnservedRequestReceived():
                close()
            case KnownRequestsAnswered(data):  # only with `known_answers`
                ...
"""

from __future__ import annotations

import struct
from collections import deque
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Final, TypeVar

from falkirk.protocol.codec import decode_prefix, decode_prefix_in_slices, encode
from falkirk.protocol.codec.decoder_compiler import UNLIMITED
from falkirk.protocol.errors import LocalProtocolError, RemoteProtocolError
from falkirk.protocol.frame import FRAME_BYTES_MAX, FrameReader, frame, frame_start
from falkirk.protocol.headers import request_header_version, response_header_version
from falkirk.protocol.known_answer import KnownAnswer, KnownRequestsAnswered, are_alike, known_requests_answered
from falkirk.protocol.messages import REQUESTS, RESPONSES, RequestHeader, ResponseHeader, message_class
from falkirk.structs import FrozenStruct

if TYPE_CHECKING:
    from collections.abc import Container, Generator, Mapping, Sequence

    from falkirk.protocol.schema import WireMessage

API_VERSIONS: Final = 18
UNSUPPORTED_VERSION: Final = 35

_CORRELATION_IDS: Final = 2**31

_Header = TypeVar("_Header", RequestHeader, ResponseHeader)
KNOWN_REQUEST_BYTES_MAX: Final = 512
"""The largest request whose answer may be known beforehand."""

_NO_ANSWERS: Final[Mapping[bytes, KnownAnswer]] = {}
_API: Final = struct.Struct(">hh")
_CORRELATION_ID: Final = struct.Struct(">i")
_CORRELATION_END: Final = 8
_UNSUPPORTED_VERSION_BYTES: Final = UNSUPPORTED_VERSION.to_bytes(2, "big")


class Role(Enum):
    """Which end of the connection we are."""

    SERVER = "server"
    CLIENT = "client"


class RequestReceived(FrozenStruct):
    """A request of an API and version that is served; it has to be answered."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    frame: bytes  # header and body
    body_start: int
    sequence: int  # counts the requests of this connection

    @property
    def response_version(self) -> int:
        """Version that the answer is written in."""
        return self.api_version

    @property
    def body(self) -> memoryview:
        """The body's bytes."""
        return memoryview(self.frame)[self.body_start :]

    def message(self, elements_max: int = UNLIMITED) -> WireMessage:
        """Decode the body. Raises RemoteProtocolError; its offset counts from the start of the header.

        TooManyElementsError if the body's arrays have more than `elements_max` elements together. Bytes left over are
        ignored: librdkafka has three of them behind a Metadata request for all topics.
        """
        cls = _request_class(self.api_key)
        message, _ = decode_prefix(cls, self.api_version, self.frame, self.body_start, elements_max=elements_max)
        return message

    def message_in_slices(self, elements_max: int) -> Generator[None, None, WireMessage]:
        """Decode the body as `message` does, a thousand elements in a slice."""
        cls, position = _request_class(self.api_key), self.body_start
        decoding = decode_prefix_in_slices(cls, self.api_version, self.frame, position, elements_max=elements_max)
        return (yield from decoding)[0]


class UnsupportedVersionReceived(FrozenStruct):
    """ApiVersions in a version that is not served.

    To be answered with UNSUPPORTED_VERSION and the versions of ApiVersions that are. Source: KIP-35, KIP-511.
    """

    api_version: int
    correlation_id: int
    client_id: str | None
    sequence: int
    api_key: int = API_VERSIONS

    @property
    def response_version(self) -> int:
        """The version that every client reads."""
        return 0

    def message(self, elements_max: int = UNLIMITED) -> None:
        """Return None: nobody knows what the body means."""


class UnservedRequestReceived(FrozenStruct):
    """An API, or a version of one, that is not served here. Nobody knows how to answer it: close the connection.

    What comes after it is not read any more.
    """

    api_key: int
    api_version: int


class ResponseReceived(FrozenStruct):
    """An answer to one of our requests."""

    api_key: int
    api_version: int  # of the request
    correlation_id: int
    frame: bytes  # header and body
    body_start: int

    @property
    def response_version(self) -> int:
        """Version that the body has: 0 where ApiVersions was asked in a version that the server lacks (KIP-511)."""
        if self.api_key == API_VERSIONS and self.body[:2] == _UNSUPPORTED_VERSION_BYTES:
            return 0
        return self.api_version

    @property
    def body(self) -> memoryview:
        """The body's bytes."""
        return memoryview(self.frame)[self.body_start :]

    def message(self, *, layout: int | None = None) -> WireMessage:
        """Decode the body. Raises RemoteProtocolError; its offset counts from the start of the header."""
        cls = _response_class(self.api_key)
        return _decode_body(cls, self.response_version, self.frame, self.body_start, layout)


Event = (
    RequestReceived | UnsupportedVersionReceived | UnservedRequestReceived | KnownRequestsAnswered | ResponseReceived
)


class Connection:
    """One connection. `supported`: the versions that a server serves, by API key; a client needs none.

    `client_id` is what a client calls itself. `known_answers`, by `known_request_key`: a request that is in there, and
    comes when none is open, is answered without being read; it belongs to the caller, who may change it at any time.
    """

    def __init__(
        self,
        *,
        role: Role,
        supported: Mapping[int, Container[int]] | None = None,
        frame_bytes_max: int = FRAME_BYTES_MAX,
        client_id: str | None = None,
        known_answers: Mapping[bytes, KnownAnswer] | None = None,
    ) -> None:
        assert (role is Role.SERVER) == (supported is not None), "a server says what it serves, a client does not"
        self.role = role
        self.supported = supported or {}
        self.client_id = client_id
        self.known_answers = _NO_ANSWERS if known_answers is None else known_answers
        self._frames = FrameReader(frame_bytes_max)
        self._is_broken = False
        # Server: answers that wait for earlier ones, by sequence.
        self._next_sequence = 0
        self._next_answer = 0
        self._answers: dict[int, bytes] = {}
        self._last_header: _KnownHeader | None = None
        # Client: what was asked, oldest first: key, version, correlation id.
        self._next_correlation_id = 0
        self._requested: deque[tuple[int, int, int]] = deque()

    @property
    def open_requests(self) -> int:
        """How many requests wait for their answer; who reads on without end is to be stopped by it."""
        return self._next_sequence - self._next_answer if self.role is Role.SERVER else len(self._requested)

    def receive_data(self, data: bytes) -> list[Event]:
        """Receive bytes, cut anywhere; return the events that they complete.

        Raises RemoteProtocolError, with the byte's offset since the connection was opened, for what cannot be read or
        was not requested: the connection must be closed, and anything received later is meaningless.
        """
        if self._is_broken:
            return []
        try:
            frames = self._frames.receive_data(data)
            if self.role is Role.CLIENT:
                return [self._read_response(received, offset) for offset, received in frames]
            events: list[Event] = []
            if self.known_answers and self._next_sequence == self._next_answer:
                frames = self._answer_known(frames, events)
            for offset, received in frames:
                event = self._read_request(received, offset)
                events.append(event)
                if isinstance(event, UnservedRequestReceived):
                    self._is_broken = True
                    break
        except RemoteProtocolError:
            self._is_broken = True
            raise
        return events

    def receive_frames(self, data: bytes) -> list[tuple[int, bytes]]:
        """Receive bytes; return the frames that they complete, undecoded, each with its position in the stream.

        For a server that inspects each frame before it decodes it: not all of them are requests (SASL). Raises as
        `receive_data`.
        """
        if self._is_broken:
            return []
        try:
            return self._frames.receive_data(data)
        except RemoteProtocolError:
            self._is_broken = True
            raise

    def read_frame(
        self, received: bytes, offset: int
    ) -> RequestReceived | UnsupportedVersionReceived | UnservedRequestReceived:
        """Read one of `receive_frames` as a request. Raises as `receive_data`."""
        try:
            event = self._read_request(received, offset)
        except RemoteProtocolError:
            self._is_broken = True
            raise
        self._is_broken = isinstance(event, UnservedRequestReceived)
        return event

    def limit_frames(self, frame_bytes_max: int) -> None:
        """Change the largest accepted frame."""
        self._frames.frame_bytes_max = frame_bytes_max

    @property
    def pending_bytes(self) -> int:
        """Bytes kept of an incomplete frame."""
        return self._frames.pending_bytes

    @property
    def missing_bytes(self) -> int:
        """How much the frame that has begun lacks, at least; 0 between frames."""
        return self._frames.missing_bytes

    # --- Server

    def send_response(
        self, request: RequestReceived | UnsupportedVersionReceived, message: WireMessage, *, layout: int | None = None
    ) -> bytes:
        """Return the bytes to send for this response and those behind it; empty while an earlier request is open.

        Raises LocalProtocolError if it is answered already, or if the wire cannot hold the message.
        """
        return self.send_body(request, encode(message, request.response_version, layout=layout))

    def send_body(self, request: RequestReceived | UnsupportedVersionReceived, body: bytes) -> bytes:
        """Answer with a body that is encoded already, in the request's `response_version`. As `send_response`."""
        return self._answer(request, frame(response_header(request), body))

    def send_pieces(
        self, request: RequestReceived | UnsupportedVersionReceived, pieces: Sequence[bytes]
    ) -> Sequence[bytes]:
        """Answer with a body that is in pieces; give what to send, one by one. Raises as `send_response`."""
        header = response_header(request)
        if request.sequence != self._next_answer or self._answers:
            answer = self._answer(request, frame(header, *pieces))
            return (answer,) if answer else ()
        if self._next_answer >= self._next_sequence:
            raise LocalProtocolError(f"request {request.sequence} of this connection is not open")
        self._next_answer += 1
        return (frame_start(header, *pieces), *pieces)

    def send_token(self, token: bytes) -> bytes:
        """Return the bytes of a token that is no response to a request (SASL behind SaslHandshake v0)."""
        return frame(token)

    def send_nothing(self, request: RequestReceived) -> bytes:
        """Complete a request that has no response (Produce without acks). As `send_response`."""
        return self._answer(request, b"")

    def _answer_known(self, frames: list[tuple[int, bytes]], events: list[Event]) -> list[tuple[int, bytes]]:
        """Answer requests as long as they are known; give the others."""
        known = self.known_answers
        parts: list[bytes] = []
        count, last = 0, None
        for _, received in frames:
            # A large one is not among them, and copying it to look it up would cost as much as the rest.
            if len(received) > KNOWN_REQUEST_BYTES_MAX:
                break
            # What `known_request_key` gives; a call would cost as much again.
            found = known.get(received[:4] + received[8:])
            if found is None:
                break
            if found is not last and last is not None and not are_alike(found, last):
                events.append(known_requests_answered(parts, last))
                parts = []
            parts += (found.before, received[4:8], found.after)
            count, last = count + 1, found
        if last is not None:
            events.append(known_requests_answered(parts, last))
        return frames[count:]

    def _read_request(
        self, received: bytes, offset: int
    ) -> RequestReceived | UnsupportedVersionReceived | UnservedRequestReceived:
        known = self._last_header
        if (
            known is not None
            and received.startswith(known.start)
            and received.startswith(known.rest, _CORRELATION_END)
            and known.supported is self.supported
        ):
            # Nothing but the correlation id differs from the header before: so it is with most.
            (correlation_id,) = _CORRELATION_ID.unpack_from(received, len(known.start))
            sequence = self._next_sequence
            self._next_sequence += 1
            return RequestReceived(
                known.api_key, known.api_version, correlation_id, known.client_id, received, known.body_start, sequence
            )
        event = read_request(received, self.supported, sequence=self._next_sequence, offset=offset)
        if not isinstance(event, UnservedRequestReceived):
            self._next_sequence += 1
        if isinstance(event, RequestReceived):
            self._last_header = _KnownHeader.of(event, self.supported)
        return event

    def _answer(self, request: RequestReceived | UnsupportedVersionReceived, answer: bytes) -> bytes:
        sequence = request.sequence
        if not self._next_answer <= sequence < self._next_sequence or sequence in self._answers:
            raise LocalProtocolError(f"request {sequence} of this connection is not open")
        if sequence != self._next_answer:
            self._answers[sequence] = answer
            return b""
        self._next_answer += 1
        if not self._answers:
            return answer
        ready = [answer]
        while self._next_answer in self._answers:
            ready.append(self._answers.pop(self._next_answer))
            self._next_answer += 1
        return b"".join(ready)

    # --- Client

    def send_request(self, message: WireMessage, version: int) -> tuple[int, bytes]:
        """Return the correlation id of a request and the bytes to send. Raises LocalProtocolError."""
        info = message.SCHEMA.info
        if self.role is not Role.CLIENT or info.kind != "request" or info.key is None:
            raise LocalProtocolError(f"{type(message).__name__} is no request that a {self.role.value} sends")
        correlation_id = self._next_correlation_id
        request = request_bytes(message, version, correlation_id=correlation_id, client_id=self.client_id)
        self._next_correlation_id = (correlation_id + 1) % _CORRELATION_IDS
        self._requested.append((info.key, version, correlation_id))
        return correlation_id, frame(request)

    def _read_response(self, received: bytes, offset: int) -> Event:
        """Read a response: servers keep the order, so it belongs to the oldest request."""
        if not self._requested:
            raise RemoteProtocolError("a response without a request", offset=offset)
        key, version, correlation_id = self._requested[0]
        header, body_start = _decode_header(ResponseHeader, response_header_version(key, version), received, offset)
        if header.correlation_id != correlation_id:
            reason = f"an answer to request {header.correlation_id}; the next must be to {correlation_id}"
            raise RemoteProtocolError(reason, offset=offset)
        self._requested.popleft()
        return ResponseReceived(key, version, correlation_id, received, body_start)


class _KnownHeader(FrozenStruct):
    """The header of a request that was read: the bytes before its correlation id and behind it, and what they say."""

    start: bytes
    rest: bytes
    supported: "Mapping[int, Container[int]]"
    api_key: int
    api_version: int
    client_id: str | None
    body_start: int

    @classmethod
    def of(cls, request: RequestReceived, supported: Mapping[int, Container[int]]) -> _KnownHeader:
        start, rest = request.frame[:4], request.frame[_CORRELATION_END : request.body_start]
        return cls(start, rest, supported, request.api_key, request.api_version, request.client_id, request.body_start)


def read_request(
    received: bytes, supported: Mapping[int, Container[int]], *, sequence: int = 0, offset: int = 0
) -> RequestReceived | UnsupportedVersionReceived | UnservedRequestReceived:
    """Read the header of one request, as it stands in a frame or in an Envelope.

    Raises RemoteProtocolError; `offset` is where the request starts.
    """
    if len(received) < 4:
        raise RemoteProtocolError(f"a request of {len(received)} bytes", offset=offset)
    key, version = _API.unpack_from(received)
    is_served = key in supported and version in supported[key]
    if not is_served and (key != API_VERSIONS or key not in supported):
        return UnservedRequestReceived(key, version)
    header, body_start = _decode_header(RequestHeader, _request_header(key, version), received, offset)
    if not is_served:
        return UnsupportedVersionReceived(version, header.correlation_id, header.client_id, sequence)
    return RequestReceived(key, version, header.correlation_id, header.client_id, received, body_start, sequence)


def request_bytes(message: WireMessage, version: int, *, correlation_id: int, client_id: str | None) -> bytes:
    """Return header and body of a request, as in a frame or an Envelope. Raises LocalProtocolError."""
    key = message.SCHEMA.info.key
    assert key is not None, "a request has a key"
    header = RequestHeader(key, version, correlation_id, client_id)
    # A version that the message lacks must be the body's error, so the body goes first.
    body = encode(message, version)
    return encode(header, request_header_version(key, version)) + body


def known_request_key(request: RequestReceived) -> bytes:
    """Return all bytes of a request but its correlation id."""
    return request.frame[:4] + request.frame[8:]


def known_answer(request: RequestReceived, message: WireMessage, body: bytes) -> KnownAnswer:
    """Return a known answer with this body. `message`: the request, decoded."""
    answer = frame(response_header(request), body)
    return KnownAnswer(message, request.api_version, answer[:4], answer[8:])


def response_header(request: RequestReceived | UnsupportedVersionReceived) -> bytes:
    """Return the header of the response to a request."""
    is_flexible = response_header_version(request.api_key, request.response_version)
    return _CORRELATION_ID.pack(request.correlation_id) + (b"\0" if is_flexible else b"")


def _request_header(key: int, version: int) -> int:
    """Return the header's version; unknown versions of ApiVersions have the newest known header."""
    if key != API_VERSIONS:
        return request_header_version(key, version)
    return request_header_version(key, min(max(version, 0), _api_versions_max()))


@cache
def _api_versions_max() -> int:
    return max(_request_class(API_VERSIONS).SCHEMA.info.versions)


@cache
def _request_class(key: int) -> type[WireMessage]:
    return message_class(REQUESTS[key])


@cache
def _response_class(key: int) -> type[WireMessage]:
    return message_class(RESPONSES[key])


def _decode_header(cls: type[_Header], version: int, received: bytes, offset: int) -> tuple[_Header, int]:
    try:
        return decode_prefix(cls, version, received)
    except RemoteProtocolError as error:
        raise RemoteProtocolError(error.reason, offset=offset + error.offset, path=error.path) from error


def _decode_body(
    cls: type[WireMessage], version: int, received: bytes, body_start: int, layout: int | None
) -> WireMessage:
    message, end = decode_prefix(cls, version, received, body_start, layout=layout)
    if end != len(received):
        raise RemoteProtocolError(f"{len(received) - end} bytes left over", offset=end)
    return message
