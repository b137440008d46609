"""Copies the version and the repository's address from exporter/pyproject.toml to every file that repeats them.

version.py             write the files
version.py --check     write nothing; exit code 1 if a file differs
version.py --set 0.2.0 [--repository https://github.com/OWNER/ase-exporter]    change them first
"""

import argparse
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = Path("exporter/pyproject.toml")
PLACEHOLDER = "https://example.com/ase-exporter"
"""The address until the repository is published; a release needs a real one."""

# Each pattern matches a version, between two groups that stay.
VERSIONS = {
    "simulator/pyproject.toml": [r'(?m)(^version = ")[^"]+(")', r'(ase-exporter(?:\[compare\])?==)[^"]+(")'],
    "deploy/helm/ase-exporter/Chart.yaml": [r"(?m)(^version: )\S+()", r'(?m)(^appVersion: ")[^"]+(")'],
    "docker-compose.yml": [r"(image: ase-(?:exporter|simulator):)\S+()"],
    "deploy/scale-out/docker-compose.yml": [r"(image: ase-(?:exporter|simulator):)\S+()"],
}
# Each pattern matches an address of the repository.
ADDRESSES = {
    "exporter/pyproject.toml": [r'()https://[^"\s]+?(?=/tree/|/blob/|/issues|")()'],
    "simulator/pyproject.toml": [r'()https://[^"\s]+?(?=/tree/|/blob/|/issues|")()'],
    "README.md": [r"(git clone )\S+()"],
    "exporter/README.md": [r"(\()https://[^)\s]+?(/raw/main/)"],
    "simulator/README.md": [r"(ase-exporter\]\()https://[^)\s]+(\))"],
    "deploy/helm/ase-exporter/Chart.yaml": [
        r"(?m)(^home: )\S+()",
        r"(?m)(^sources: \[)[^\]]+(\])",
        r"(?m)(^icon: )\S+?(/raw/)",
        r'(url: ")https://\S+?(/tree/)',
    ],
    "deploy/packages/nfpm.yaml": [r"(?m)(^homepage: )\S+()"],
    "deploy/docker/Dockerfile": [r'(image\.source=")[^"]+(")'],
}


def current() -> tuple[str, str]:
    """Return version and address as exporter/pyproject.toml has them."""
    project = tomllib.loads((ROOT / SOURCE).read_text(encoding="utf-8"))["project"]
    return project["version"], project["urls"]["Repository"]


def replaced(path: str, text: str, version: str, address: str) -> str:
    """Return a file's text with both. Raises ValueError if a pattern matches nothing."""
    for patterns, value in ((VERSIONS, version), (ADDRESSES, address)):
        for pattern in patterns.get(path, ()):
            text, found = re.subn(pattern, rf"\g<1>{value}\g<2>", text)
            if not found:
                raise ValueError(f"{path}: nothing matches {pattern}")
    return text


def _set(version: str | None, address: str | None) -> None:
    path = ROOT / SOURCE
    text = path.read_text(encoding="utf-8")
    if version:
        text = re.sub(r'(?m)^version = "[^"]+"', f'version = "{version}"', text)
    if address:
        text = re.sub(r'(?m)^Repository = "[^"]+"', f'Repository = "{address}"', text)
    path.write_text(text, encoding="utf-8")


def main() -> None:
    """Write or check the files."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument(
        "--check", action="store_true", help="write nothing; exit code 1 if a file differs"
    )
    arguments.add_argument("--set", metavar="VERSION", help="the new version")
    arguments.add_argument("--repository", metavar="URL", help="the new address of the repository")
    arguments.add_argument("--print", action="store_true", help="print the version alone")
    options = arguments.parse_args()
    if options.print:
        print(current()[0])
        return
    if options.set or options.repository:
        _set(options.set, options.repository)
    version, address = current()
    stale = []
    for name in sorted(VERSIONS.keys() | ADDRESSES.keys()):
        text = (ROOT / name).read_text(encoding="utf-8")
        wanted = replaced(name, text, version, address)
        if text == wanted:
            continue
        stale.append(name)
        if options.check:
            print(f"{name}: not {version} of {address}: python deploy/dev/version.py", file=sys.stderr)
        else:
            (ROOT / name).write_text(wanted, encoding="utf-8")
    if options.check and stale:
        sys.exit(1)


if __name__ == "__main__":
    main()
