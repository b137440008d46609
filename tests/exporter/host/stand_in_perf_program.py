"""A stand-in for perf: replays a script written by a test, then waits for its input to end, as cat does.

The script is the file `script` beside the program; its lines go to standard error, except these:
    STEP      wait until the test writes a byte into the fifo `go`
    EXIT N    end with that code
    DEAF      keep running, even when the input ends
"""

import os
import signal
import sys
from pathlib import Path


def main(here: Path) -> None:
    (here / "arguments").write_text("\n".join(sys.argv[2:]))
    script = here / f"script.{len(list(here.glob('started.*')))}"
    (here / f"started.{os.getpid()}").touch()
    if not script.exists():
        script = here / "script"
    go = os.open(here / "go", os.O_RDWR)
    for line in script.read_text().splitlines():
        word, _, rest = line.partition(" ")
        if word == "STEP":
            os.read(go, 1)
        elif word == "EXIT":
            sys.exit(int(rest))
        elif word == "DEAF":
            signal.pause()
        else:
            print(line, file=sys.stderr, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
