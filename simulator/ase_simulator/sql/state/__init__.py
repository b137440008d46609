"""State of connections and servers: variables, cursors, client tables, configuration history."""
