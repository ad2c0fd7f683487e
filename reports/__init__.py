"""From ReFrame's report to a verdict: a pure function of stored results and site files that never reruns anything.

``load`` reads a report, ``site`` reads what the site expects, ``judge`` compares the two, and ``terminal``, ``html``
and ``verdict_json`` show what came out. ``python -m reports --help`` lists the commands.
"""
