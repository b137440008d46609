"""`python -m ase_simulator` is `ase-simulator`."""

from ase_simulator.cli import main

main()
