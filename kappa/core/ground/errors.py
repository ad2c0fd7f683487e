"""The error of bad input: names the file, the key and what was expected there."""


class InputError(ValueError):
    """A report, a site file or an argument that cannot be used; the message is for the user."""
