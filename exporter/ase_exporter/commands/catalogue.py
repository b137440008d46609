"""`ase-exporter catalogue`: validation of custom metrics."""

from pathlib import Path

from ase_exporter.catalogue import load_catalogue
from ase_exporter.errors import UserError


def validate(directories: list[Path]) -> None:
    catalogue, problems = load_catalogue(directories)
    if problems:
        raise UserError(*problems)
    built_in, _ = load_catalogue()
    if empty := [str(each) for each in directories if not any(each.glob("*.yaml"))]:
        raise UserError(f"{empty[0]}: nothing to check in it: expected catalogue files (*.yaml)")
    number = len(catalogue.collectors) - len(built_in.collectors)
    print("1 collector is good" if number == 1 else f"{number} collectors are good")
