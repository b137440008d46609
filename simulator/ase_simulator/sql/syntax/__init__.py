"""T-SQL text to statements: lexer, statement parser, query grammar, keywords."""
