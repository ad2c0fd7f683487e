"""The acceptance dossier: a contract's clauses held against repeated runs of the suite.

A contract (``contract``) names series of the suite's results (``series``). ``run`` has ReFrame run each of them as
often as the contract asks, into one folder (``campaign``). From what is stored there, and nothing else, ``judge``
says which clauses are met, and ``dossier`` writes what is signed.
"""
