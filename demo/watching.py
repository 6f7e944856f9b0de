"""A watch beside the demo's clusters: `falkirk watch`, with its page, from the middle of the first part to the end."""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import yaml

from nodes import FALKIRK, NodeError, uninterrupted

FILE = "watch.yaml"
_PAGE = "the page is at "
_PATIENCE_S = 60
_POLL_S = 0.2
_TIMEOUT_S = 60


class Watching:
    """The watch; `address` of its page is empty before it has started. A `with` block: at its end it does not run."""

    def __init__(self, folder: Path) -> None:
        self.address = ""
        self.pictures: list[Path] = []
        self._folder = folder
        self._log = folder / "watch.log"
        self._clusters: list[dict[str, Any]] = []
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def follow(self, name: str, bootstrap_servers: str, **more: str) -> str:
        """Write the watch's file with one more cluster; a watch that runs reads it again. Return its text."""
        self._clusters.append({"name": name, "bootstrap_servers": bootstrap_servers.split(","), **more})
        document = {"clusters": self._clusters, "journal": "watch.sqlite", "page": "127.0.0.1:0"}
        text = yaml.safe_dump(document, sort_keys=False)
        beside = self._folder / f"{FILE}.new"
        beside.write_text(text)
        beside.replace(self._folder / FILE)
        return text

    def follows(self, name: str) -> bool:
        """Return whether a cluster is in the watch's file."""
        return any(cluster["name"] == name for cluster in self._clusters)

    def start(self) -> None:
        """Start it, and wait for its page. Raises NodeError."""
        with self._log.open("ab") as log, uninterrupted():
            self._process = subprocess.Popen(
                [FALKIRK, "watch", "--config", FILE],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        deadline = time.monotonic() + _PATIENCE_S
        while _PAGE not in (said := self._log.read_text(errors="replace")):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise NodeError(f"the watch has no page: {said.strip() or 'it says nothing'}")
            time.sleep(_POLL_S)
        self.address = said.partition(_PAGE)[2].split()[0]

    def state(self, cluster: str, release: str) -> str:
        """Return the word for a way; `unknown` before the cluster is known."""
        ways = self._table(cluster, "ways")
        return next((way["state"] for way in ways if way["release"] == release), "unknown")

    def await_state(self, cluster: str, release: str, wanted: str) -> None:
        """Wait until a way has a state. Raises NodeError."""
        deadline = time.monotonic() + _PATIENCE_S
        while (state := self.state(cluster, release)) != wanted:
            if time.monotonic() > deadline:
                raise NodeError(f"the watch says of {cluster} to {release}: {state}, not {wanted}")
            time.sleep(_POLL_S)

    def last_event(self, cluster: str, release: str) -> str:
        """Return the sentence of the last event of a way."""
        events = [event for event in self._table(cluster, "events") if event["release"] == release]
        return str(events[-1]["text"])

    def _table(self, cluster: str, table: str) -> list[dict[str, Any]]:
        address = f"{self.address}cluster.json?{urlencode({'name': cluster, 'table': table})}"
        try:
            with urlopen(address, timeout=_TIMEOUT_S) as answer:  # noqa: S310 - the page that was started above
                found: list[dict[str, Any]] = json.load(answer)
                return found
        except URLError:
            return []

    def picture(self, name: str, path: str, height: int) -> bool:
        """Add a picture of a page; return whether there is a browser to do so. Raises NodeError if it fails."""
        browser = shutil.which("chromium") or shutil.which("google-chrome")
        if browser is None:
            return False
        file = self._folder / name
        # Its sandbox does not start as root.
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        profile = f"--user-data-dir={self._folder / 'chromium'}"
        shown = [f"--window-size=1280,{height}", f"--screenshot={file}", "--hide-scrollbars"]
        command = [browser, "--headless", *sandbox, profile, *shown, self.address + path]
        ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_TIMEOUT_S)
        if not file.is_file():
            raise NodeError(f"chromium made no picture: {ended.stderr[-500:]}")
        self.pictures.append(file)
        return True
