"""What a run of a mode will take and write, from what its cases took before or what their checks say."""
