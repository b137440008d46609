"""A server of the Model Context Protocol for assistants: figures, changes, comparisons and advice, read-only.

`tools` lists what can be asked, `server` speaks the protocol, `inputs` and `answers` are the schemas.
"""
