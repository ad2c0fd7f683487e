"""Plug-ins for checks of storage: a case for each storage target, and a folder on the target for each job.

The folder is new, and only its user can enter it: no other user can plant a link where a benchmark writes. The job
removes it when it ends, fails, times out or is cancelled. After a job that was killed, a later job removes it. On
Lustre, the job sets the striping that the site states, reads it back, and the check compares.
"""

import os

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError, SanityError

from kappa.core.vocabulary.features import STORAGE_TARGETS, parallel, stated_folder
from reframe_checks.base.job_files import in_stage, sourced
from reframe_checks.parsers import lustre

STRIPING_FILE = "striping.txt"
# As in `src/job/node_folder.sh`.
NOT_MADE_FILE = "node_folder.txt"


class JobFolder(rfm.RegressionTestPlugin):
    """Give the job ``$folder``, its own folder on shared storage or on each node's own storage."""

    def folder_by(self, script, path):
        """Return the command that makes ``$folder`` below ``path`` by a file of ``src/job``."""
        in_stage(self, "own_folder.sh")
        return sourced(self, script, path)

    def why_failed(self):
        return self.blamed(self.not_made()) or super().why_failed()

    def not_made(self):
        """Return node -> why it could not make its folder."""
        if NOT_MADE_FILE not in os.listdir(self.stagedir):
            return {}
        reasons = dict(line.partition(": ")[::2] for line in self.output_text(NOT_MADE_FILE).splitlines())
        return {node: reasons[node] for node in self.provenance["nodelist"] if node in reasons}

    def blamed(self, problems):
        """Return ``problems``, node -> text, in one line. The nodes are suspects, unless all nodes have a problem."""
        if 0 < len(problems) < len(self.provenance["nodelist"]):
            self.suspects = sorted(problems)
        return "; ".join(f"{node}: {problem}" for node, problem in sorted(problems.items()))


class OnStorage(JobFolder):
    """Give the job ``$folder``, its own folder on the target. Put this before ``KappaCheck`` in the bases."""

    target = rfmb.parameter(STORAGE_TARGETS, loggable=True)
    #: How the check avoids measuring the page cache instead of storage; recorded with the result.
    cache_defeat = rfmb.variable(str, value="", loggable=True)
    #: The striping that was read back; empty on other file systems.
    striping = rfmb.variable(dict, value={}, loggable=True)

    def chosen_features(self):
        return [*super().chosen_features(), *self.target_features(self.target, self.chosen_scale())]

    @staticmethod
    def target_features(target, scale):
        several_nodes = scale is not None and scale.nodes != 1
        return [STORAGE_TARGETS[target], *([parallel(target)] if several_nodes else [])]

    @classmethod
    def alternative_features(cls):
        return [
            [*base, STORAGE_TARGETS[target]]
            for base in super().alternative_features()
            for target in cls.raw_params["target"].values
        ]

    @rfmb.run_after("init")
    def tag_target(self):
        self.tags |= {f"target_{self.target}"}

    @rfmb.run_after("setup")
    def make_folder(self):
        extras = self.current_partition.extras
        path = self.stated(f"extras/storage/{self.target}, an absolute path", stated_folder(extras, self.target))
        self.lustre_settings = self.stated_striping(extras.get("lustre", {}).get(self.target))
        self.prerun_cmds = [*self.prerun_cmds, *self.folder_commands(path), *self.striping_commands()]

    def folder_commands(self, path):
        """Return the commands that make ``$folder`` and remove it when the job ends."""
        return [self.folder_by("storage_folder.sh", path)]

    def stated_striping(self, settings):
        """Return the striping that the site states for a Lustre target, ``None`` for others; a leaf may override it."""
        return settings

    def striping_commands(self):
        if self.lustre_settings is None:
            return []
        try:
            count, size = (int(self.lustre_settings[key]) for key in ("stripe_count", "stripe_size"))
        except (KeyError, TypeError, ValueError):
            where = f"partition {self.current_partition.fullname}: extras/lustre/{self.target}"
            raise ReframeError(f"{where}: expected whole numbers stripe_count and stripe_size") from None
        return [
            f'lfs setstripe --stripe-count {count} --stripe-size {size} "$folder"',
            f'lfs getstripe --directory "$folder" > {STRIPING_FILE}',
        ]

    def require_striping(self):
        """Require that the folder had the striping that the site states; for use in sanity functions.

        :raises SanityError: it had another striping.
        """
        if self.lustre_settings is None:
            return
        found = self.parsed(lustre.layout, self.output_text(STRIPING_FILE))
        self.striping = {"stripe_count": found.stripe_count, "stripe_size": found.stripe_size_bytes}
        if self.striping != {key: int(self.lustre_settings[key]) for key in self.striping}:
            raise SanityError(f"the folder's striping is {self.striping}, expected {self.lustre_settings}")
