"""Configuration changes: detection, history, metrics and Grafana annotations."""
