"""Files that users install elsewhere: rules, runbooks, dashboards, SQL, default configuration.

In a checkout the directories are symbolic links to where the files are maintained; a wheel holds copies.
"""

import csv
from pathlib import Path
from typing import Any


def directory(name: str) -> Path:
    """Return the directory of one kind of files, such as `rules` or `dashboards`."""
    return Path(__file__).parent / name


def load_yaml(text: str) -> Any:
    """What YAML of ours says, by libyaml where PyYAML has it: in a tenth of the time. Raises yaml.YAMLError."""
    import yaml  # The web process has no use for it.

    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def shipped_rows(file: Path) -> list[dict[str, str]]:
    """The lines of a CSV file of ours, by column."""
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))
