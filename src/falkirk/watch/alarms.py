"""Delivers the journal's alarms: a line on stderr, webhooks, commands; each until it has arrived.

An alarm is delivered at least once. A watch that is killed between the arrival and the note of it delivers the same
alarm again, with the same key: receivers that keep the keys see each once. Later alarms of a channel wait for earlier
ones, so that a channel sees them in their order.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import http.client
import os
import signal
import sys
import time
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import msgspec

from falkirk.printable import printable
from falkirk.watch.core.findings import EventKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.watch.core.findings import WatchEvent
    from falkirk.watch.journal import Delivery, Journal

TIMEOUT_S: Final = 30.0
BACKOFF_MAX_S: Final = 300.0
DEFAULT_KINDS: Final = frozenset(EventKind) - {EventKind.WAY_BLOCKED, EventKind.WAY_UNBLOCKED}
"""Rolling a node blocks ways for a while, so that is no alarm unless it is asked for."""
_POLL_S: Final = 0.2


class Channel(ABC):
    """A receiver of alarms. `name` identifies it in the journal, over restarts; `shown` is what is said of it."""

    def __init__(self, name: str, kinds: frozenset[EventKind], shown: str | None = None) -> None:
        self.name = name
        self.shown = shown or name
        self.kinds = kinds

    @abstractmethod
    async def deliver(self, event: WatchEvent) -> None:
        """Deliver an alarm. Raises OSError with the reason if it has not arrived."""


class LogLine(Channel):
    """A line on stderr for each alarm."""

    def __init__(self, kinds: frozenset[EventKind]) -> None:
        super().__init__("log", kinds)

    async def deliver(self, event: WatchEvent) -> None:
        """Write the line."""
        at = datetime.fromtimestamp(event.at_ms / 1000, UTC).isoformat(timespec="milliseconds")
        text = " ".join(event.text.split())
        sys.stderr.write(printable(f"{at} {event.kind} {text} [{event.key}]\n"))
        sys.stderr.flush()


class Webhook(Channel):
    """An HTTP POST of the event as JSON.

    Headers: `Idempotency-Key` is the event's key; with a secret, `X-Falkirk-Timestamp` (seconds) and
    `X-Falkirk-Signature`, `sha256=` and the HMAC of timestamp, a dot and the body. Redirects are failures.
    """

    def __init__(self, url: str, secret: bytes | None, kinds: frozenset[EventKind]) -> None:
        # Many services have a secret in the path.
        super().__init__(f"webhook {url}", kinds, f"webhook {urlsplit(url).hostname}")
        self._url = url
        self._secret = secret
        self._opener = urllib.request.build_opener(_NoRedirects)

    async def deliver(self, event: WatchEvent) -> None:
        """Send the request; any status of 2xx is an arrival."""
        await asyncio.to_thread(self._post, event)

    def _post(self, event: WatchEvent) -> None:
        body = msgspec.json.encode(event)
        headers = {"Content-Type": "application/json", "Idempotency-Key": event.key}
        if self._secret is not None:
            timestamp = str(int(time.time()))
            headers |= {
                "X-Falkirk-Timestamp": timestamp,
                "X-Falkirk-Signature": signature(self._secret, timestamp, body),
            }
        request = urllib.request.Request(self._url, data=body, headers=headers, method="POST")  # noqa: S310 - checked
        try:
            with self._opener.open(request, timeout=TIMEOUT_S):
                pass
        except urllib.error.HTTPError as error:
            with error:
                raise OSError(f"HTTP status {error.code}") from error
        except http.client.HTTPException as not_http:
            # Not an OSError: as when something else than HTTP listens there.
            raise OSError(f"{type(not_http).__name__}: the answer is no HTTP") from not_http


class Command(Channel):
    """A command for `/bin/sh -c`.

    It gets the event as JSON on stdin, and FALKIRK_EVENT_KEY, FALKIRK_EVENT_KIND, FALKIRK_CLUSTER, FALKIRK_RELEASE and
    FALKIRK_TEXT in its environment; exit status 0 is an arrival. What it prints goes to stderr.
    """

    def __init__(self, command: str, kinds: frozenset[EventKind]) -> None:
        super().__init__(f"exec {command}", kinds)
        self._command = command

    async def deliver(self, event: WatchEvent) -> None:
        """Run the command to its end."""
        variables = {
            "FALKIRK_EVENT_KEY": event.key,
            "FALKIRK_EVENT_KIND": event.kind.value,
            "FALKIRK_CLUSTER": event.cluster,
            "FALKIRK_RELEASE": event.release or "",
            "FALKIRK_TEXT": event.text.replace("\0", ""),
        }
        process = await asyncio.create_subprocess_shell(
            self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=sys.stderr.fileno(),  # ours has findings and events alone
            env={**os.environ, **variables},
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await process.communicate(msgspec.json.encode(event))
        except TimeoutError as error:
            raise OSError(f"no end after {TIMEOUT_S:g} s") from error
        finally:
            if process.returncode is None:
                # With all that it has started: its session is a process group of its own.
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if process.returncode:
            raise OSError(f"exit status {process.returncode}")


class Deliverer:
    """Delivers what waits in the journal."""

    def __init__(self, journal: Journal, channels: Iterable[Channel]) -> None:
        self._journal = journal
        self._channels: Mapping[str, Channel] = {channel.name: channel for channel in channels}

    @property
    def wanted(self) -> Mapping[str, frozenset[EventKind]]:
        """The kinds of events that each channel wants, by its name."""
        return {name: channel.kinds for name, channel in self._channels.items()}

    async def run(self) -> None:
        """Deliver until cancelled. Raises WatchError if the journal fails."""
        while True:
            if not await self.deliver_due():
                await asyncio.sleep(_POLL_S)

    async def deliver_due(self) -> int:
        """Deliver the first alarm that is due of each channel; return how many have arrived.

        Those of channels that this watch does not have wait for one that has.
        """
        first: dict[str, Delivery] = {}
        for delivery in self._journal.next_of(self._channels):
            first[delivery.channel] = delivery
        now_ms = _now_ms()
        due = [delivery for delivery in first.values() if delivery.next_ms <= now_ms]
        return sum(await asyncio.gather(*map(self._deliver, due)))

    async def _deliver(self, delivery: Delivery) -> bool:
        channel = self._channels[delivery.channel]
        try:
            await channel.deliver(delivery.event)
        except OSError as error:
            reason = str(error) or type(error).__name__
            wait_s = min(2.0**delivery.attempts, BACKOFF_MAX_S)
            self._journal.failed(delivery, reason, _now_ms() + int(wait_s * 1000))
            said = f"{channel.shown}: {reason}; {delivery.event.key} is tried again in {wait_s:g} s\n"
            sys.stderr.write(printable(said))
            return False
        self._journal.delivered(delivery, _now_ms())
        return True


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect could send the signed body anywhere."""

    def redirect_request(self, *_arguments: object, **_more: object) -> None:
        """Follow none."""


def signature(secret: bytes, timestamp: str, body: bytes) -> str:
    """Return the value of `X-Falkirk-Signature`."""
    return "sha256=" + hmac.new(secret, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
