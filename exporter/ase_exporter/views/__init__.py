"""How figures are shown, on a terminal, on a page and as JSON, always with the same text.

`figures` formats numbers and times, `view` has the parts that a view is made of; `terminal` and `page` are its sinks,
`chart` draws lines over time, `plain` has values for JSON. Pages are for screens of both themes, phones and paper; one
that is mailed is one file and loads nothing.
"""
