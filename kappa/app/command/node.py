"""``kappa node``."""

from kappa.app.command.arguments import CommandParser


def add_arguments(to: CommandParser) -> None:
    to.describe("Take suspect nodes out of service, test and return them, and acknowledge findings.")
    to.add_command("quarantine", "list nodes in quarantine, or apply the site's rule to a run", "quarantine")
    to.add_command("return", "test nodes in quarantine, and resume nodes that pass", "return_node")
    to.add_command("ack", "acknowledge a finding until a day, with a reason", "acknowledge")
