"""Judge the answers that ``kappa doctor`` collected, with pure functions. These modules start no program.

``kappa.app.conduct.doctor`` and ``kappa.app.command.doctor`` import this package.
"""
