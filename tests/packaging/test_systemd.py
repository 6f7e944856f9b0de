"""systemd units: systemd itself takes them, and finds them hardened."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from played_pages import ROOT

UNITS = sorted((ROOT / "packaging" / "systemd").glob("*.service"))
# systemd's own figure, in tenths: 20 is "OK", an unhardened service has 96.
EXPOSURE_MAX = 25


@pytest.mark.full
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_takes_the_unit_and_finds_it_hardened(unit, tmp_path):
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.fail("no systemd-analyze here: install Debian's package `systemd`")
    copy = tmp_path / unit.name.replace("@", "@node")
    copy.write_text(unit.read_text().replace("/usr/bin/falkirk", str(Path(sys.executable).resolve())))
    verified = subprocess.run([program, "verify", "--man=no", copy], capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stdout + verified.stderr) == (0, "")
    secured = subprocess.run(
        [program, "security", "--offline=yes", f"--threshold={EXPOSURE_MAX}", copy],
        capture_output=True,
        text=True,
        check=False,
    )
    assert secured.returncode == 0, secured.stdout


def test_there_are_units_for_serve_and_watch():
    assert [unit.name for unit in UNITS] == ["falkirk-serve@.service", "falkirk-watch.service"]
