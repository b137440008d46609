"""Configuration changes: found, kept and put on graphs."""
