"""Decide about nodes that findings name, from records only; this package acts on no node."""
