"""Show a verdict on a terminal and as one HTML page with plots; other pages use these modules, too."""
