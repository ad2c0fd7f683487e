"""References from what was measured: proposed as a patch, never written."""
