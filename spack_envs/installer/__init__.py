"""Install the Spack environments for a site, and list the installed ones. Uses only Python's standard library."""
