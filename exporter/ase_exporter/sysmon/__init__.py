"""sp_sysmon: parses its reports, compares them, runs it without clearing counters, exports its figures."""
