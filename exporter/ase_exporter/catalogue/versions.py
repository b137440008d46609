"""Server versions: parsed from @@version or the catalogue, and compared."""

import re
from dataclasses import dataclass, field

_NUMBER = re.compile(r"(?<!\d)(\d+)\.(\d+)(?:\.(\d+))?")
_LEVEL = re.compile(r"\b(?:ESD\s*#\s*|SP\s*)(\d+)", re.IGNORECASE)
_PATCH = re.compile(r"\bPL\s*(\d+)", re.IGNORECASE)


@dataclass(frozen=True, order=True, slots=True)
class Version:
    """A release of ASE: 15.7 SP110 is (15, 7, 0, 110, 0), 15.7 ESD#2 is (15, 7, 0, 2, 0), 16.0 SP02 PL05 ...

    cluster: Cluster Edition. banner: the whole @@version; not part of comparisons.
    """

    numbers: tuple[int, int, int, int, int]
    cluster: bool = field(default=False, compare=False)
    banner: str = field(default="", compare=False)

    def __str__(self) -> str:
        major, minor, maintenance, level, patch = self.numbers
        text = f"{major}.{minor}" + (f".{maintenance}" if maintenance else "")
        if level:
            text += f" SP{level:02d}" if major >= 16 or level >= 50 else f" ESD#{level}"
        if patch:
            text += f" PL{patch:02d}"
        return text


def parse_version(text: str) -> Version:
    """A version from `16.0 SP04 PL03`, `15.7 ESD#2` or a whole @@version. Raises ValueError without a number."""
    release, _, rest = text.partition("/")
    if rest:
        release, _, rest = rest.partition("/")
        # 15.7 and before name the service pack in the EBF part: 15.7/EBF 21985 SMP SP110 /P/x86_64/...
        release += " " + rest.partition("/")[0]
    number = _NUMBER.search(release)
    if number is None:
        raise ValueError(f"no version number in {text!r}")
    level, patch = _LEVEL.search(release), _PATCH.search(release)
    major, minor, maintenance = (int(part or 0) for part in number.groups())
    return Version(
        (major, minor, maintenance, int(level[1]) if level else 0, int(patch[1]) if patch else 0),
        cluster="cluster edition" in text.lower(),
        banner=text,
    )
