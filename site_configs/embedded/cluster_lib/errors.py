"""The one exception whose text is meant for the user."""


class ClusterError(Exception):
    """Says in plain words what failed, where, and how to mend it."""
