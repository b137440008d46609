"""A stand-in for `perf stat -x, -I MS`: invented counts of a busy machine, with and without huge pages.

First argument: the file with the number of huge pages; then the arguments of perf.
"""

import select
import sys
import time
from pathlib import Path

# Per second, in 10^6: in small pages, and in huge pages.
COUNTS = {
    "dTLB-loads": (160_000, 175_000),
    "dTLB-load-misses": (260, 105),
    "dTLB-store-misses": (90, 36),
    "iTLB-load-misses": (30, 26),
    "instructions": (410_000, 452_000),
    "cycles": (395_000, 391_000),
    "d-cycles-waited": (7_900, 3_000),
    "i-cycles-waited": (400, 300),
    "d-main-memory-reads": (0.52, 0.36),
    "i-main-memory-reads": (0.02, 0.02),
}


def main(pages: Path, arguments: list[str]) -> None:
    interval = int(arguments[arguments.index("-I") + 1]) / 1000
    started = time.monotonic()
    while not select.select([sys.stdin], [], [], interval)[0]:
        huge = int(pages.read_text()) > 0
        at = time.monotonic() - started
        for event, counts in COUNTS.items():
            count = counts[huge] * 1e6 * interval
            print(
                f"{at:16.9f},{count:.0f},,{event},{interval * 1e9:.0f},100.00,,", file=sys.stderr, flush=True
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
