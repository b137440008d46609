"""A server of the Model Context Protocol for assistants: diagnosis, sessions, changes, comparisons, advice; read-only.

`answers` has a function for each tool and `inputs` their arguments; `tools` lists them, `server` speaks the protocol,
and `privacy` encodes what leaves it.
"""
