"""Write the config tables in `src/falkirk/versions/configs/releases/` from facts of real releases.

usage: generate_configs.py [--check]

The facts are in `tests/data/configs/facts-RELEASE.json.gz`; `tests/interop/java/ConfigFacts.java` reads them off the
jars. With --check nothing is written: the exit status is 1 if a table is not what its facts make of it.
"""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
FACTS: Final = ROOT / "tests" / "data" / "configs"
TABLES: Final = ROOT / "src" / "falkirk" / "versions" / "configs" / "releases"
RELEASES: Final = ("3.7.2", "3.8.1", "3.9.1", "4.0.0", "4.1.1", "4.2.1", "4.3.1", "4.4.0")
KINDS: Final = ("server", "topic", "group", "client_metrics")
BUILTIN: Final = ("True", "False", "None", "REQUIRED")
# Validators by their class and, of lambdas, what they say of themselves.
VALIDATORS: Final = {
    "ConfigDef$NonEmptyString": "NonEmpty()",
    "MetadataVersionValidator": "MetadataVersionName()",
    "ShareGroupAutoOffsetResetStrategy$Validator": "ShareOffsetReset()",
    "ThrottledReplicaListValidator": "ThrottledReplicas()",
    # Checked where the quorum and its listeners are read, or by the node that has the class.
    "ConfigDef$NonNullValidator": None,
    "QuorumConfig$ControllerQuorumBootstrapServersValidator": None,
    "QuorumConfig$ControllerQuorumVotersValidator": None,
    "RaftConfig$ControllerQuorumVotersValidator": None,
}
LAMBDAS: Final = {
    "[1,...,9] or -1": "Range(1, 9, besides=-1)",
    "The default value of -1 means that this will be set to the configured value of "
    "remote.log.manager.thread.pool.size, if available; otherwise, it defaults to 10.": "Range(1, besides=-1)",
}

# What ConfigFacts prints of a key, or of a release: JSON.
Facts = dict[str, Any]


def main(arguments: list[str]) -> None:
    """Do what the usage says."""
    before: Facts = {kind: {} for kind in KINDS}
    stale = []
    for release in RELEASES:
        facts = read_facts(release)
        text = _formatted(_module(release, before, facts))
        path = TABLES / f"kafka_{release.replace('.', '_')}.py"
        if not path.exists() or path.read_text() != text:
            stale.append(path)
            if "--check" not in arguments:
                path.write_text(text)
        before = facts
    if stale and "--check" in arguments:
        raise SystemExit(
            "\n".join(f"{path.relative_to(ROOT)} is stale: run tools/generate_configs.py" for path in stale)
        )


def read_facts(release: str) -> Facts:
    """Return what ConfigFacts printed for a release."""
    facts: Facts = json.loads(gzip.decompress((FACTS / f"facts-{release}.json.gz").read_bytes()))
    return facts


def _module(release: str, before: Facts, facts: Facts) -> str:
    parts = [f"release={release!r}"]
    for kind in KINDS:
        old, new = _definitions(before[kind]), _definitions(facts[kind])
        changed = {name: new.get(name) for name in sorted({**old, **new}) if old.get(name) != new.get(name)}
        if changed:
            parts.append(f"{kind}={{{', '.join(f'{name!r}: {value}' for name, value in changed.items())}}}")
    undefined = sorted(name for name, key in facts["server"].items() if "type" not in key)
    if undefined:
        parts.append(f"dynamic_quotas={tuple(undefined)!r}")
    body = f"CHANGES: Final = ConfigChanges({', '.join(parts)},)\n"
    names = sorted(set(re.findall(r"\b[A-Z]\w+", re.sub(r"'[^']*'", "", body))) - {"CHANGES", "Final", *BUILTIN})
    return (
        f'"""Configs that Kafka {release} added, changed or removed."""\n\nfrom typing import Final\n\n'
        f"from falkirk.versions.configs.definition import {', '.join(names)}\n\n{body}"
    )


def _definitions(keys: Facts) -> dict[str, str]:
    """Return each key's definition as Python; quotas have none."""
    return {name: _definition(key) for name, key in keys.items() if "type" in key}


def _definition(key: Facts) -> str:
    parts = [key["type"], _default(key), *_validator(key.get("validator"))]
    parts += [f"is_{flag}=True" for flag in ("dynamic", "internal") if key.get(flag)]
    return f"Definition({', '.join(parts)})"


def _default(key: Facts) -> str:
    if "default" not in key:
        return "Required.REQUIRED"
    text = key["default"]
    if text is None:
        return "None"
    kind = key["type"]
    if kind in {"SHORT", "INT", "LONG"}:
        return _number(int(text))
    if kind == "LIST":
        return repr(tuple(text.split(",")) if text else ())
    read = {"BOOLEAN": lambda word: word == "true", "DOUBLE": float}
    return repr(read.get(kind, str)(text))


def _validator(facts: Facts | None) -> list[str]:
    """Return the third argument of a definition, if it has one."""
    match facts:
        case None:
            found = None
        case {"class": "ConfigDef$Range", "min": lowest, "max": None}:
            found = f"Range({_number(lowest)})"
        case {"class": "ConfigDef$Range", "min": lowest, "max": highest}:
            found = f"Range({_number(lowest)}, {_number(highest)})"
        case {"class": "ConfigDef$ValidString", "validStrings": words}:
            found = f"OneOf({tuple(words)!r})"
        case {"class": "ConfigDef$CaseInsensitiveValidString", "validStrings": words}:
            found = f"OneOf({tuple(words)!r}, ignores_case=True)"
        case {"class": "ConfigDef$ValidList", "validString": {"validStrings": words}, "isEmptyAllowed": may_be_empty}:
            given = [repr(tuple(words))] * bool(words) + ["may_be_empty=False"] * (not may_be_empty)
            found = f"DistinctListOf({', '.join(given)})"
        case {"class": "ConfigDef$ValidList", "validString": {"validStrings": words}}:
            found = f"ListOf({tuple(words)!r})"
        case {"class": name, "text": text}:
            found = LAMBDAS[text] if text in LAMBDAS else VALIDATORS[name]
    return [] if found is None else [found]


def _number(value: float | None) -> str:
    return f"{value:_}" if isinstance(value, int) and abs(value) >= 10_000 else repr(value)


def _formatted(text: str) -> str:
    ruff = Path(sys.executable).with_name("ruff")
    name = ("--stdin-filename", TABLES / "x.py", "-")
    for command in (("check", "--quiet", "--fix", "--select", "I"), ("format", "--quiet")):
        done = subprocess.run([ruff, *command, *name], input=text, capture_output=True, text=True, check=True)
        text = done.stdout
    return text


if __name__ == "__main__":
    main(sys.argv[1:])
