"""The code that all packages share; it imports none of them.

``ground``: base functions; ``vocabulary``: names of sites and checks; ``fabrics``: simulated machines;
``record``: data that checks write; ``sites``: descriptions of sites. Every package may import it.
"""
