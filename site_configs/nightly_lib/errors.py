"""What ends the program with a message for its user."""


class NightlyError(Exception):
    """Something that the user can mend; the message says how."""
