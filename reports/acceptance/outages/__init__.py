"""The outage log of a campaign: its lines, and the time account of system and nodes that follows from them."""
