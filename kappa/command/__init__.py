"""The command ``kappa``: a file for each subcommand, which holds its arguments, its help and its exit status."""
