"""Install the Spack environments for a site, and state what is installed. Uses only Python's standard library."""
