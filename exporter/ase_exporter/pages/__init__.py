"""HTML pages, for screens of both themes and for paper, and the figures and times on them.

A page that is mailed is one file and loads nothing.
"""
