"""`ase-exporter` that reads collectors of a minute every 20 s where panels show what grew between two readings."""

from dataclasses import replace
from pathlib import Path

from ase_exporter.catalogue import load
from ase_exporter.catalogue.model import Collector
from ase_exporter.cli import main

SECONDS = 20
EAGER = {"objects", "cached_procedures", "cached_statements"}

add = load._add


def add_eager(catalogue: load.Catalogue, path: Path, collectors: dict[str, Collector]) -> None:
    eager = {name: replace(collectors[name], interval=SECONDS) for name in collectors.keys() & EAGER}
    add(catalogue, path, collectors | eager)


if __name__ == "__main__":
    load._add = add_eager
    main()
