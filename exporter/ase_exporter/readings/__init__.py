"""What was read of a server, as the diagnosis judges it: live at an interval, or from a recording.

Read in this order: samples (the last readings of every metric, and the rates between them), live (takes samples by
scrapes), recording (writes what is read to a file, and makes the same samples of it again).
"""
