"""`ase-simulator demo`: a published case study through exporter, Prometheus and Alertmanager. Needs ase-exporter.

`runner` plays the scenario: `stack` writes the configuration (`scaling` shortens its durations) and starts `processes`;
`figures` has what the case study prints and what Prometheus measured; `webhook` receives the alerts.
"""
