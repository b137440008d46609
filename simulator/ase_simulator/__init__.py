"""A server that speaks TDS 5.0 and behaves like SAP ASE under load. For demonstration and tests."""
