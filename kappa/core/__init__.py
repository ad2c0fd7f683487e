"""What all parts share, and what imports nothing of theirs.

``ground`` what any program needs; ``vocabulary`` the names that sites and checks use; ``fabrics`` simulated machines;
``record`` what a check leaves behind; ``sites`` what a site says. Every package may import it.
"""
