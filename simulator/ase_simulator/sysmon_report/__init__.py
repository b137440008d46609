"""What sp_sysmon prints, in the layouts of 15.0.3, 15.7 and 16.0: counters of a sample -> lines."""
