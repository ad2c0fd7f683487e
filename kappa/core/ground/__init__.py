"""Base functions: whole files, folders of sites and results, locks, processes, YAML and JSON, clean text.

Many modules need only the standard library, for the installer and the embedded cluster. Every package may import it.
"""
