"""Decisions about nodes that findings name, from what is recorded; nothing is done from here."""
