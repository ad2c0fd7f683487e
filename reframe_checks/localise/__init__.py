"""Faulty nodes, links and switches: functions of what was measured, without ReFrame."""
