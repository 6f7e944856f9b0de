"""Temporary folders of programs that end in order, that run, and that are killed."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from falkirk.temporary_folder import temporary_folder

PREFIX = "falkirk-trial-"
HOLDER = """
import signal
from falkirk.temporary_folder import temporary_folder
with temporary_folder("falkirk-trial-") as folder:
    (folder / "segment").write_bytes(bytes(1000))
    print(folder, flush=True)
    signal.pause()
"""


def test_a_folder_goes_with_its_block_and_what_a_killed_program_left_with_the_next_one(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    stranger = tmp_path / f"{PREFIX}of-a-user"
    stranger.mkdir()
    running, killed = (
        subprocess.Popen(
            [sys.executable, "-c", HOLDER],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"TMPDIR": str(tmp_path)},
        )
        for _ in range(2)
    )
    with running, killed:
        try:
            folders = [Path(process.stdout.readline().strip()) for process in (running, killed)]
            killed.send_signal(signal.SIGKILL)
            killed.wait()
            assert all(map(Path.exists, folders))
            with temporary_folder(PREFIX) as own:
                assert [folder.exists() for folder in folders] == [True, False]
                assert list(own.iterdir()) == []
                (own / "segment").write_bytes(b"")
        finally:
            running.kill()
    assert {path.name for path in tmp_path.iterdir()} == {stranger.name, folders[0].parent.name}
