"""What a vendor's ticket needs of a run: chosen, without what is nobody else's business, in one archive."""
