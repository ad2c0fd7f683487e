"""The files of a run that a vendor's ticket needs, in one archive, without users, addresses and secrets."""
