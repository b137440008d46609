"""`ase-exporter demo`: the whole stack on one machine, fed by a simulated server.

`runner` runs the demo: `stack` writes configuration (`scaling` shortens its durations) and starts `processes`;
`replay` follows the simulator's runs and queries Prometheus for their figures; `view` shows them.
"""
