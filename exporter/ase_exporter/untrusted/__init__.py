"""Text of others: what it becomes when it enters (entry), leaves (encoders), and what it must not show (redaction).

It comes from servers, files, callers and other programs, none of which is trusted. Where it enters it becomes one line
of printable characters, so no later place can be deceived by line breaks, escape sequences or directions of writing.
Where it leaves, the encoder of its sink takes away the meaning that its characters have there. pyproject.toml lists the
modules where it may enter and leave (banned-api).
"""
