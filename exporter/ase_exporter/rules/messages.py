"""What the numbers of the error log mean and who should hear of them, from messages.yaml, as patterns for the rules."""

from pathlib import Path
from typing import Any

import yaml

SEVERE = 17  # From this severity on, messages page unless messages.yaml says otherwise.


def known() -> dict[str, Any]:
    """messages.yaml: sources by name, and groups of messages."""
    loaded: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return loaded


def patterns() -> dict[str, str]:
    """Patterns of numbers as parameters of rules: what pages under SEVERE, tickets, and what does not page above it."""
    found: dict[str, list[str]] = {"page": [], "ticket": [], "quiet": []}
    for group in known()["groups"]:
        for number, (severity, _) in sorted(group["messages"].items()):
            if group["who"] == "ticket" or (group["who"] == "page" and severity < SEVERE):
                found[group["who"]].append(str(number))
            if group["who"] != "page" and severity >= SEVERE:
                found["quiet"].append(str(number))
    return {f"messages.{name}": "|".join(numbers) for name, numbers in found.items()}
