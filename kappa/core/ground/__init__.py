"""What any program needs: whole files, locks, processes, bounded reading, documents with line numbers, clean text.

Much of it needs only the standard library, for the installer and the embedded cluster. Every package may import it.
"""
