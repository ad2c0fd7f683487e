"""Summarise the nights of a site: verdicts, trends and coverage of nodes over time."""
