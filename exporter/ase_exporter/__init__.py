"""Prometheus exporter for SAP ASE: where a database spins instead of works."""
