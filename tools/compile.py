"""Compile the hot modules with mypyc, for a wheel: `compile.py TARGET`.

Which: those that a broker runs through for each request of the frequent kinds, `HOT`, and the codecs of those requests,
written out. TARGET gets extension modules in the package's folders, and the one library that has all their code.
Without TARGET it only looks whether there is a C compiler.
docs/internals/compiled.md says more.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src"
HOT = ROOT / "tools" / "compiled_modules.txt"
LIBRARY = "falkirk"
CODECS = "falkirk/protocol/codec/written_codecs.py"
PACKAGES = "Debian's packages gcc, libc6-dev and python3-dev"


def hot_modules() -> list[str]:
    """Return the files, relative to `src`."""
    return [f"falkirk/{line}" for line in HOT.read_text().splitlines() if line and not line.startswith("#")]


def check_compiler() -> None:
    """Exit with the names of the packages that are missing unless C for this Python can be compiled."""
    compiler = os.environ.get("CC") or sysconfig.get_config_var("CC")
    command = [*compiler.split(), "-E", "-I", sysconfig.get_path("include"), "-o", os.devnull, "-"]
    try:
        done = subprocess.run(command, input="#include <Python.h>", capture_output=True, text=True, check=False)
    except OSError as error:
        sys.exit(f"no compiled build without a C compiler ({PACKAGES}): {error}")
    if done.returncode:
        sys.exit(f"no compiled build without the headers of Python and of C ({PACKAGES}):\n{done.stderr}")


def compile_modules(target: Path) -> None:
    """Write the extension modules below `target`."""
    # Who only asks which modules they are needs no compiler.
    import setuptools  # noqa: PLC0415
    from mypyc.build import mypycify  # noqa: PLC0415
    from setuptools._distutils.compilers.C.unix import Compiler  # noqa: PLC0415

    compile_files = Compiler.compile

    def compile_at_once(compiler: Compiler, sources: list[str], **options: Any) -> list[str]:  # Any: passed on
        with ThreadPool(int(os.environ.get("FALKIRK_JOBS", os.cpu_count() or 1))) as pool:
            made = pool.map(lambda source: compile_files(compiler, [source], **options), sources, chunksize=1)
        return [file for files in made for file in files]

    # One file after the other is what setuptools does.
    Compiler.compile = compile_at_once

    # Tracebacks name files as mypyc is given them: below a folder of sys.path their lines are found.
    os.chdir(written_sources(target / "sources"))
    cache = f"--cache-dir={target / 'mypy_cache'}"
    extensions = mypycify(
        [cache, *hot_modules(), CODECS],
        opt_level=os.environ.get("FALKIRK_OPT_LEVEL", "2"),
        debug_level="0",
        multi_file=True,
        target_dir=str(target / "generated"),
        group_name=LIBRARY,
    )
    setuptools.setup(
        name="falkirk",
        ext_modules=extensions,
        packages=[],
        script_args=[
            "--quiet",
            "build_ext",
            f"--build-lib={target / 'modules'}",
            f"--build-temp={target / 'objects'}",
        ],
    )


def written_sources(folder: Path) -> Path:
    """Copy the sources, with the codecs written out; return the folder."""
    sys.path.insert(0, str(SOURCES))
    from written_codecs import module_text  # noqa: PLC0415 - needs the package

    shutil.copytree(SOURCES, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / CODECS).write_text(module_text())
    return folder


if __name__ == "__main__":
    check_compiler()
    for argument in sys.argv[1:]:
        compile_modules(Path(argument).resolve())
