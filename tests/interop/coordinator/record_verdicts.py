"""Writes `tests/data/coordinator/verdicts.jsonl.gz`: verdicts of real loaders on logs that the unit tests replay.

    .venv/bin/python tests/interop/coordinator/record_verdicts.py

One line for each log: its entries, and by release and loader a letter for each record (R read, S skipped, F fails).
"""

import gzip
import json
import sys
from pathlib import Path

_TESTS = Path(__file__).parents[2]
for _folder in (_TESTS / "interop", _TESTS / "support", _TESTS.parent / "tools"):
    sys.path.insert(0, str(_folder))

from coordinator_logs import DATA, row_of, variants  # noqa: E402 (its folder is put on the path just above)
from load_judge import judge  # noqa: E402 (same)
from test_load_judge import LOADERS  # noqa: E402 (same)

LOGS = 40


def main() -> None:
    logs = [log for log in variants(seed=93, count=LOGS) if log]
    verdicts: list[dict[str, str]] = [{} for _ in logs]
    for release, loaders in LOADERS.items():
        requested = [(loader, log) for loader in loaders for log in logs]
        for (loader, _), index, judged in zip(
            requested, [index for _ in loaders for index in range(len(logs))], judge(release, requested), strict=True
        ):
            letters = "".join(verdict[0].upper() for verdict in judged.verdicts)
            verdicts[index][f"{release} {loader}"] = letters + ("!" if judged.end.startswith("fails") else "")
    with (DATA / "verdicts.jsonl.gz").open("wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as lines:
        for log, by_loader in zip(logs, verdicts, strict=True):
            row = {"verdicts": by_loader, "entries": [row_of(entry) for entry in log]}
            lines.write(json.dumps(row, separators=(",", ":")).encode() + b"\n")


if __name__ == "__main__":
    main()
