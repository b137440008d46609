"""Rows of the system tables that follow from schema, configuration, logins and client objects."""
