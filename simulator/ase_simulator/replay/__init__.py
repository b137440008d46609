"""Replays captures: the recorded answers of a server, over TDS. docs/capture.md describes the file."""
