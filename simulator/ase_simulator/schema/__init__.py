"""What tables each version of ASE has: columns, types, names and the switches they need, as data."""
