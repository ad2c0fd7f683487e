"""What a site's nights show: verdicts, trends and coverage of nodes over time."""
