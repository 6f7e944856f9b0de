"""The wheel has compiled modules if FALKIRK_COMPILED is 1; without it the wheel is the source alone."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# What types the modules are checked with, and the compiler itself.
TOOLS = ["mypy[mypyc]==2.4.1", "setuptools>=77"]


class CompiledModules(BuildHookInterface):  # type: ignore[type-arg]  # of a configuration that we do not look at
    """Adds what `tools/compile.py` makes."""

    def dependencies(self) -> list[str]:
        """Return what the build needs besides hatchling."""
        return [*TOOLS, *self.metadata.core.dependencies] if is_wanted() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # Any: hatchling's
        """Compile, and add each file to its package."""
        if not is_wanted() or version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory(prefix="falkirk-compiled-")
        target = Path(os.environ.get("FALKIRK_BUILD", self._folder.name))
        command = [sys.executable, str(Path(self.root) / "tools" / "compile.py"), str(target)]
        subprocess.run(command, check=True)  # noqa: S603 - our own
        modules = target / "modules"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["force_include"].update(
            {str(file): file.relative_to(modules).as_posix() for file in modules.rglob("*") if file.is_file()}
        )

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatchling's
        """Remove what was compiled."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()


def is_wanted() -> bool:
    """Return whether a compiled wheel is asked for."""
    return os.environ.get("FALKIRK_COMPILED") == "1"
