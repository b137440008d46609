"""The report of sp_sysmon in the layouts of 15.0.3, 15.7 and 16.0."""
