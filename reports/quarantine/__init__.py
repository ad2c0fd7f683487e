"""What is to be done with nodes that findings name, decided from what is recorded; nothing is done from here."""
