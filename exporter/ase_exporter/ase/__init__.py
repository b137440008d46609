"""Talking to one server: login and backoff, connection, deadlines, GIL scheduling.

timing lists every timing constant of the deadline path, in the order in which they act.
"""
