"""For how long the raw output of runs is kept: the keys of ``keep`` in ``site.yaml``. Without them, for ever."""

from typing import Annotated

from msgspec import Struct

from kappa.core.vocabulary.quarantine import Count, said


class Keep(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What one of these keeps is kept; ``runs``, ``days`` or both have to be said."""

    runs: Annotated[Count | None, said("that of the newest so many runs and nights", "none for being new")] = None
    days: Annotated[Count | None, said("that of the last so many days", "none for its age")] = None
    failures: Annotated[Count, said("of what is left, that of the newest so many that ended in FAIL", "20")] = 20
