"""Names that attack a sink: what a server, a file or a caller may call something."""

import json
import random
from pathlib import Path

_PIECES: list[str] = json.loads(Path(__file__).with_suffix(".json").read_text())
_PIECES.insert(4, "a" * 10_000)


def hostile_names(number: int = 200) -> list[str]:
    """Every piece once, and pieces joined at random, always the same."""
    dice = random.Random(7)
    joined = ("".join(dice.choices(_PIECES, k=dice.randint(2, 4))) for _ in range(number))
    return [*_PIECES, *joined][:number]
