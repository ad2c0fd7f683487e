"""Judge a contract: ``judge`` compares its clauses with repeated runs, ``dossier`` writes the document to sign.

This package reads only a campaign's folder.
"""
