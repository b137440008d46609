"""ASE's data types: type rules, values inside the engine, conversions."""
