"""Installs the Spack environments for a site and says what is installed; only Python's standard library."""
