"""The kinds of clauses: each file with a subclass of ``Clause`` registers it by its YAML key."""
