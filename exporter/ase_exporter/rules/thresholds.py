"""Thresholds of the shipped alerts that verdicts share: a test compares them with alerts/parameters.yaml."""

# Shares of all engine time: cpu.spinning_warning, cpu.spinning_critical and cpu.saturated.
SPINNING_WARNING, SPINNING_CRITICAL = 0.15, 0.40
SATURATED = 0.95
# Tasks that wait for locks longer than the server's threshold: locks.blocked_warning.
BLOCKED = 1
