"""`ase-exporter demo`: the whole stack on one machine, fed by a simulated server.

`runner` runs the demo: `stack` writes configuration (`scaling` shortens its durations) and starts `processes`;
`scenario` follows the simulator's runs; `replay` queries Prometheus for their figures; `view` prints them.
"""
