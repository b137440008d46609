"""python -m ase_exporter"""

from ase_exporter.cli import main

main()
