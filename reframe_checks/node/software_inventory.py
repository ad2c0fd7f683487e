"""Do all nodes have the same programs and libraries, and the accepted ones? One job for each environment.

Each node reports (``kappa/node/facts/software.py``):

- where the environment's programs are on its PATH;
- the SHA-256 of the programs, of the shared objects that the loader takes, and of files that they open at run time;
- whether the environment's modules load;
- where its compilers find the headers and libraries that builds need.

The software that all nodes have must also be the accepted software.
"""

import hashlib
import pathlib

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import results_folder
from kappa.core.record.software import changes, kept_of
from kappa.core.vocabulary.programs import programs_of
from kappa.node.facts import software
from kappa.node.table import fact_of
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.node_program import ask_nodes
from reframe_checks.base.scaled import OnEachNode
from reframe_checks.node.odd_nodes import oddities
from reframe_checks.parsers import job_scripts

#: Number of differences in a message: another MPI means a hundred different files.
SHOWN = 6
RESULT = "software.jsonl"
FACTS = (
    "program.*", "unresolved_libraries", "binary.*", "shared_file.*", "shared_content.*", "environment_module.*",
    "needed_to_build.*",
)  # fmt: skip
CONTENT = ("binary.", "shared_content.")


@rfm.simple_test
class SoftwareInventory(OnEachNode, KappaCheck):
    descr = (
        "Compares programs, libraries and modules of an environment on all nodes and with the accepted ones; finds "
        "changed software"
    )
    family = "node/software"
    measured_s = 5
    failure_means = (
        "A node has other programs or libraries than the rest, or all nodes have others than were accepted. Make the "
        "nodes alike; after an update that you meant, accept it with `kappa site software SITE --accept`."
    )
    tags = {"smoke"}
    programs = ["./kappa-node"]
    informational = ["files"]

    @rfmb.run_after("setup")
    def command_line(self):
        environ = self.current_environ
        hashed = dict.fromkeys(path for paths in environ.extras.get("hash_files", {}).values() for path in paths)
        to_build = environ.extras.get("to_build", [])
        programs = programs_of(environ.features)
        ask_nodes(self, FACTS, program=programs, file=hashed, module=self.modules_by_name(), to_build=to_build)
        self.executable_opts += [f"> {RESULT}"]  # ReFrame shows the end of what a failed job prints, here 40 KiB a node

    def modules_by_name(self):
        return [module["name"] for module in self.current_environ.modules_detailed]

    @rfmb.sanity_function
    def nodes_agree(self):
        nodes = self.parsed(job_scripts.node_facts, self.output_text(RESULT), expect_nodes=self.num_tasks)
        found = list(oddities({node.host: node.facts for node in nodes}, {}))
        if found:
            self.suspects = sorted({node for odd in found for node in odd.nodes})
            # Paths of programs and modules that do not load come first: they explain the rest.
            found.sort(key=lambda odd: odd.name.startswith((*CONTENT, "shared_file.")))
            self.hint = "; ".join(dict.fromkeys(fact.hint for odd in found if (fact := fact_of(odd.name))))
            raise SanityError(listed(map(str, found)))
        self.content = {
            name.partition(".")[2]: digest
            for node in nodes for name, digest in node.facts.items() if name.startswith(CONTENT) and digest
        }  # fmt: skip
        self.note_in_provenance()
        return self.is_accepted()

    def note_in_provenance(self):
        """Add one digest of all software to the provenance; it changes with any file."""
        text = "".join(f"{digest}  {path}\n" for path, digest in sorted(self.content.items()))
        files = {**self.provenance.get("files", {}), "all software": hashlib.sha256(text.encode()).hexdigest()}
        self.provenance = {**self.provenance, "files": files}

    def searched(self):
        """Return a digest of what the probe is asked for, and of its code."""
        code = pathlib.Path(software.__file__).read_text()
        return hashlib.sha256("\n".join([*self.executable_opts, code]).encode()).hexdigest()

    def is_accepted(self):
        site, partition, environ = self.current_system.name, self.current_partition.name, self.current_environ.name
        try:
            accepted = kept_of(results_folder(site), partition, environ).note(self.content, self.searched())
        except InputError as err:
            raise SanityError(str(err)) from None
        different = changes(accepted.files, self.content)
        if different:
            self.hint = f"check installations since then; `kappa site software {site} --accept` accepts the new ones"
            raise SanityError(f"changed since {accepted.since}: {listed(different)}")
        return True

    metrics = {
        # Number of compared programs, libraries and plug-ins.
        "files": ("files", lambda self: len(self.content)),
    }


def listed(texts):
    texts = list(texts)
    more = [f"and {len(texts) - SHOWN} more"] if len(texts) > SHOWN else []
    return "; ".join([*texts[:SHOWN], *more])
