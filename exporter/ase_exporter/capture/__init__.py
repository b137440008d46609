"""Captures: what a server answered to the exporter's statements, recorded in a file.

In the order of the data: recording (a connection that records), session (scrapes to record), privacy
(pseudonyms), file (the format), playback (statements answered from a capture). docs/capture.md describes the format.
"""
