"""Falkirk's packages, made from this tree."""

import os
import subprocess
import sys

# 1 January 2026: the time that all files of a package bear.
EPOCH = {"SOURCE_DATE_EPOCH": "1767225600"}


def built(source, out, kind):
    """Make the package of a tree, `wheel` or `sdist`, in the folder `out`; return its path."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory", str(out)]
    subprocess.run(command, cwd=source, env=os.environ | EPOCH, check=True, capture_output=True)
    [made] = list(out.glob("*.whl" if kind == "wheel" else "*.tar.gz"))
    return made
