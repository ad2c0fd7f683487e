def figure(check_class, metric, check):
    """Return the value of a metric of ``check_class`` for ``check``, whose output was read."""
    _, value = check_class.all_metrics()[metric]
    return value(check)
