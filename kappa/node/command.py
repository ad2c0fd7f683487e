"""The command ``kappa-node``. Only the modules that a subcommand needs are loaded, all of them before its work begins:
the program's file may be on a file system that then hangs."""

import argparse
import importlib
import sys

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


# Subcommand -> the function that does it (its parameters are the options), and what it does.
COMMANDS = {
    "facts": ("gather:print_facts", "print facts of this node"),
    "limits": ("gather:print_limits", "print the resource limits of a task on this node"),
    "folders": ("shared_folders:print_folders", "test the folders of a site's jobs on this node (`kappa doctor`)"),
    "watch": ("watch.job:watch", "watch a job: name the node at fault if it hangs or fails (docs/hangs.md)"),
    "search": ("watch.job:print_search", "search the nodes of this job now, and print the findings as JSON"),
    "look": ("watch.look:print_look", "print what the job's processes do on this node, as a line of JSON"),
    "exchange": ("watch.exchange:exchange", "exchange messages with the other tasks of the step over TCP and UDP"),
    "semantics": ("semantics:print_semantics", "test with the other tasks of the step what a shared folder promises"),
    "start-mpi": ("watch.start_mpi:start_mpi", "start MPI, and meet all ranks in a barrier"),
}


def parser():
    parser = argparse.ArgumentParser(prog="kappa-node", description="Ask a node of a cluster. It needs no root.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    of = {name: commands.add_parser(name, help=task) for name, (_, task) in COMMANDS.items()}
    for name, (_, task) in COMMANDS.items():
        of[name].description = f"{task[0].upper()}{task[1:]}."
    add_options_of_facts(of["facts"])
    add_json(of["limits"])
    folders = of["folders"]
    folders.add_argument("token", help="random name of the test")
    folders.add_argument("job", help="name of the job in the test")
    folders.add_argument("nodes", type=int, help="number of the job's nodes")
    folders.add_argument("folders", nargs="*", metavar="KIND|PATH", help="folder; its KIND: work, parallel, own, any")
    of["watch"].add_argument("script", type=int, metavar="PID", help="process of the measuring script")
    of["watch"].add_argument("expected_s", type=float, metavar="EXPECTED_S", help="its expected time in s")
    for name in ("watch", "search"):
        of[name].add_argument("program", metavar="PROGRAM", help="a program whose MPI library is tried")
        of[name].add_argument(
            "launcher", nargs=argparse.REMAINDER, metavar="LAUNCHER", help="the command that starts its ranks"
        )
    seconds = of["exchange"]
    seconds.add_argument("--seconds", type=float, default=10.5, metavar="S", help="length of the train (%(default)s)")
    semantics = of["semantics"]
    semantics.add_argument("path", metavar="DIR", help="new folder on the file system")
    semantics.add_argument(
        "--limit", type=float, default=10, metavar="S", dest="limit_s",
        help="time for a change to become visible on other nodes (%(default)s)",
    )  # fmt: skip
    for one in (of["exchange"], semantics):
        one.add_argument("--folder", default="peers", metavar="DIR", help="the tasks meet in one in it (%(default)s)")
        one.add_argument("--wait", type=float, default=60, metavar="S", help="for the other tasks (%(default)s)")
    of["start-mpi"].add_argument("library", metavar="LIBRARY", help="path of the MPI library")
    return parser


def add_options_of_facts(facts):
    facts.epilog, facts.formatter_class = FIELDS, argparse.RawDescriptionHelpFormatter
    facts.add_argument("patterns", nargs="*", metavar="PATTERN", help="names of facts, such as 'net.*' (default: all)")
    facts.add_argument(
        "--table", action="store_true", dest="list_table", help="print the table of facts instead: name, unit, meaning"
    )
    add_json(facts)
    for question, (option, metavar, meaning) in QUESTIONS.items():
        facts.add_argument(f"--{option}", dest=question, action="append", default=[], metavar=metavar, help=meaning)
    facts.add_argument(
        "--folder", default=".", metavar="DIR", help="folder that all nodes share, where the tasks meet (%(default)s)"
    )
    # Minutes, since hundreds of nodes start to read from one server.
    facts.add_argument(
        "--timeout", type=float, default=300, metavar="S", help="wait S seconds for the other tasks (%(default)s)"
    )


def add_json(to):
    to.add_argument("--json", action="store_true", dest="as_json", help="print one line of JSON, with the clock")


def main():
    options = parser()
    arguments = vars(options.parse_args())
    command = arguments.pop("command")
    if command is None:
        options.print_help()
        return 2
    module, _, function = COMMANDS[command][0].partition(":")
    return getattr(importlib.import_module("kappa.node." + module), function)(**arguments)


if __name__ == "__main__":
    sys.exit(main())
