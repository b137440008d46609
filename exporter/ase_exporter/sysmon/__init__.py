"""sp_sysmon: read every report there is, run it safely, and turn it into metrics."""
