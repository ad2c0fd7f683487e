"""The acceptance: ``judge`` holds a contract's clauses against repeated runs, ``dossier`` writes what is signed.

It reads what is stored in a campaign's folder and nothing else.
"""
