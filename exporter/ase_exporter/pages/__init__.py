"""HTML pages that can be mailed: one file, which loads nothing, for screens of both themes and for paper."""
