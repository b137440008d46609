"""Files that users install elsewhere: rules, runbooks, dashboards, SQL, default configuration.

In a checkout the directories are symbolic links to where the files are maintained; a wheel holds copies.
"""

from pathlib import Path


def directory(name: str) -> Path:
    """Return the directory of one kind of files, such as `rules` or `dashboards`."""
    return Path(__file__).parent / name
