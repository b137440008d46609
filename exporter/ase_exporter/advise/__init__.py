"""Advice: what was read of a server and its diagnosis in, statements with their ceiling and their price out."""
