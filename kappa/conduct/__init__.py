"""What conducts runs: everything that starts ReFrame, and what keeps a site's runs apart."""
