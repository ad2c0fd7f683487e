"""Who runs this program."""

import os
import pwd


def user_name() -> str:
    """The user's name, or the number when it has none; not what the environment says."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
