"""Writes dashboards/json/*.json and what follows from them and the rules: python -m dashboards.write [--check]"""

import argparse
import json
import sys
from pathlib import Path

from dashboards.change import CHANGE_IMPACT
from dashboards.contention import CONTENTION
from dashboards.coverage import COVERAGE, IMPORTANCE, coverage, importance, used_by_dashboards
from dashboards.details import details
from dashboards.exporter import EXPORTER
from dashboards.fleet import FLEET
from dashboards.hugepages import HUGEPAGES
from dashboards.server import SERVER
from dashboards.storage import STORAGE
from dashboards.waits import WAITS
from dashboards.workload import WORKLOAD

JSON = Path(__file__).parent / "json"
# Those about a question; details show the rest.
QUESTIONS = [FLEET, SERVER, CONTENTION, WAITS, WORKLOAD, STORAGE, CHANGE_IMPACT, HUGEPAGES, EXPORTER]
DASHBOARDS = [*QUESTIONS, details(used_by_dashboards(QUESTIONS))]


def files() -> dict[Path, str]:
    """Return every generated file and its contents."""
    dashboards = {
        JSON / f"{each['uid']}.json": json.dumps(each, indent=2, ensure_ascii=False) + "\n"
        for each in DASHBOARDS
    }
    return dashboards | {COVERAGE: coverage(DASHBOARDS), IMPORTANCE: importance(QUESTIONS)}


def stale() -> list[Path]:
    """Return files that are missing, differ, or belong to no dashboard."""
    wanted = files()
    differing = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    return differing + [path for path in JSON.glob("*.json") if path not in wanted]


def main() -> None:
    """Write the files; with --check, only list those that are out of date (exit code 1 if any)."""
    arguments = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    arguments.add_argument("--check", action="store_true", help="write nothing; exit code 1 if any is stale")
    if arguments.parse_args().check:
        for path in stale():
            print(f"{path} is not up to date: make generate", file=sys.stderr)
        sys.exit(bool(stale()))
    JSON.mkdir(exist_ok=True)
    for path, text in files().items():
        path.write_text(text)


if __name__ == "__main__":
    main()
