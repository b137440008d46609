"""Tables of each version of ASE: columns, types and required options, as data."""
