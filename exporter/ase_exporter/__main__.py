"""`python -m ase_exporter` is the command `ase-exporter`."""

from ase_exporter.cli import main

main()
