"""Recordings of the EMT application as pictures: the program ``emt-plot``, which ``emt plot`` starts."""
