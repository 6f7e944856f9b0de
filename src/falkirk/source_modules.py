"""A build with compiled modules runs from its sources, which it has too, with FALKIRK_PURE=1.

One switch for all: a class of a compiled module and its namesake of the source are two classes.
"""

import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader

PACKAGE = "falkirk"
_COMPILED = "falkirk.protocol.record_scan"
"""Any module that tools/compile.py compiles."""


class _SourceFinder:
    """Finds the package's modules by their source files alone."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, _target: object = None) -> ModuleSpec | None:
        if name.partition(".")[0] != PACKAGE:
            return None
        for folder in path or ():
            spec = FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES)).find_spec(name)
            if spec is not None:
                return spec
        return None


def install() -> None:
    """Have all modules that are imported from now on come from their sources."""
    sys.meta_path.insert(0, _SourceFinder)


def build_name() -> str:
    """Return which build runs: `compiled` or `source`."""
    spec = importlib.util.find_spec(_COMPILED)
    assert spec is not None, _COMPILED
    assert spec.origin is not None, _COMPILED
    return "source" if spec.origin.endswith(".py") else "compiled"
