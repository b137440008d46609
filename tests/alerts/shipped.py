"""The shipped rules, their tests and their runbooks, as the files hold them."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from tests.paths import REPOSITORY

ALERTS = REPOSITORY / "alerts"


@cache
def content(path: Path) -> Any:
    return yaml.load(path.read_text(), yaml.CSafeLoader)


def groups(folders: str = "rules") -> list[dict[str, Any]]:
    """The groups of rules. folders: a pattern, for the rules for a minute as well."""
    paths = sorted(ALERTS.glob(f"{folders}/*.yaml"))
    return [group for path in paths for group in content(path)["groups"]]


RULES: list[dict[str, Any]] = [rule for group in groups() for rule in group["rules"]]
NAMES = sorted({rule["alert"] for rule in RULES if "alert" in rule})
