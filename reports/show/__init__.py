"""A verdict for a terminal and as one HTML page, with plots; what other pages are made with, too."""
