"""The command ``kappa-node``."""

import argparse
import json
import os
import socket
import sys

from kappa.node import gather, shared_folders, table

FIELDS = """
Without --json it prints a line NAME VALUE for each fact, and for each item of a list, then the line `end`. With --json,
it prints one line for each task of the step (srun --ntasks-per-node=1): JSON, a space, and the line's SHA-256.

fields of the JSON (null where the node does not tell):
  host                    Slurm's name of the node, else its host name
  facts                   name -> value
  clock_offset_us         this node's clock less task 0's clock, from the round trip with the least delay
                          (Cristian, Distributed Computing 3, 1989); it is right to within clock_rtt_us / 2
  clock_rtt_us            that round trip

exit status: 0; 1 when a task and task 0 did not meet, whose line is then missing; 2 on wrong usage
"""
# Questions that facts need, with the option for each of their words.
QUESTIONS = {
    "mounts": ("mount", "PATH", "report on the mount at PATH"),
    "files": ("file", "PATH", "report the SHA-256 of the file"),
    "users": ("user", "NAME", "report the node's data about the user"),
    "programs": ("program", "NAME", "report the path of the program, and what it loads"),
    "modules": ("module", "NAME", "report whether the module loads in a new shell"),
    "to_build": ("to-build", "FILE", "report where compilers find the header or library"),
}


def parser():
    parser = argparse.ArgumentParser(prog="kappa-node", description="Ask a node of a cluster. It needs no root.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    facts = commands.add_parser(
        "facts", help="print facts of this node", description="Print facts of this node.", epilog=FIELDS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    facts.add_argument("patterns", nargs="*", metavar="PATTERN", help="names of facts, such as 'net.*' (default: all)")
    facts.add_argument("--table", action="store_true", help="print the table of facts instead: name, unit, meaning")
    facts.add_argument("--json", action="store_true", help="print one line of JSON, with the clock")
    for question, (option, metavar, meaning) in QUESTIONS.items():
        facts.add_argument(f"--{option}", dest=question, action="append", default=[], metavar=metavar, help=meaning)
    facts.add_argument(
        "--folder", default=".", metavar="DIR", help="folder that all nodes share, where the tasks meet (%(default)s)"
    )
    # Minutes, since hundreds of nodes start to read from one server.
    facts.add_argument(
        "--timeout", type=float, default=300, metavar="S", help="wait S seconds for the other tasks (%(default)s)"
    )
    folders = commands.add_parser("folders", help="test the folders of a site's jobs on this node (`kappa doctor`)",
                                  description=shared_folders.__doc__)  # fmt: skip
    folders.add_argument("token", help="random name of the test")
    folders.add_argument("job", help="name of the job in the test")
    folders.add_argument("nodes", type=int, help="number of the job's nodes")
    folders.add_argument("folders", nargs="*", metavar="KIND|PATH", help="folder; its KIND: work, parallel, own, any")
    return parser


def print_facts(arguments):
    if arguments.table:
        for fact in table.FACTS:
            print("\t".join((fact.name, fact.unit, fact.meaning, fact.rule.value, fact.same_on)))
        return 0
    questions = {name: getattr(arguments, name) for name in QUESTIONS}
    facts = table.collected(arguments.patterns or ["*"], questions)
    if arguments.json:
        host = os.environ.get("SLURMD_NODENAME") or socket.gethostname()
        return gather.print_lines({"host": host, "facts": facts}, arguments.folder, arguments.timeout)
    for name, value in facts.items():
        for item in value if isinstance(value, list) else [value]:
            print(name, json.dumps(item))
    print("end")
    return 0


def main():
    options = parser()
    arguments = options.parse_args()
    if arguments.command is None:
        options.print_help()
        return 2
    if arguments.command == "facts":
        return print_facts(arguments)
    return shared_folders.print_folders(arguments.token, arguments.job, arguments.nodes, arguments.folders)


if __name__ == "__main__":
    sys.exit(main())
