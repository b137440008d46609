"""Checks an SBOM: check_sbom.py FILE LOCK. It must name exactly the packages and versions that the lock file pins."""

import json
import re
import sys
from pathlib import Path


def main() -> None:
    """Exit code 1, and one line, if SBOM and lock file differ."""
    sbom, lock = Path(sys.argv[1]), Path(sys.argv[2])
    listed = {(each["name"], each["version"]) for each in json.loads(sbom.read_text())["components"]}
    pinned = set(re.findall(r"^([\w.-]+)==([^\s;\\]+)", lock.read_text(), re.MULTILINE))
    if differing := listed ^ pinned:
        sys.exit(f"{sbom}: differs from {lock}: {', '.join(sorted(map('=='.join, differing)))}")


if __name__ == "__main__":
    main()
