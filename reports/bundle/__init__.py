"""Collect the files of a run for a vendor's ticket in one archive, without users, addresses and secrets."""
