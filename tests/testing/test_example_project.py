"""The example project's tests run as its users run them, by the plugin, with three clients."""

import os
import subprocess
import sys

import pytest
from played_pages import ROOT


@pytest.mark.slow
def test_the_example_projects_tests_pass(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    example = ROOT / "examples" / "pytest-falkirk"
    options = [
        "-p",
        "falkirk.testing.pytest_plugin",
        "-p",
        "no:cacheprovider",
        f"--rootdir={example}",
        "-c",
        os.devnull,
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options, str(example)],
        cwd=example,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "7 passed" in done.stdout
