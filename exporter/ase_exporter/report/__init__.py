"""The report on a week of a server, or of many, from what Prometheus has recorded: one HTML page."""
