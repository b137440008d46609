"""The whole stack on one machine, fed by a simulated server: `ase-exporter demo`."""
