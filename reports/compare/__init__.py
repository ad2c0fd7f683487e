"""Runs beside each other: two that someone names, or one and the one before it."""
