"""Propose references from measurements as a patch; Kappa never writes them itself."""
