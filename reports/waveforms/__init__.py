"""Draw recordings of the EMT application: the program ``emt-plot``, which ``emt plot`` starts."""
