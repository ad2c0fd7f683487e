"""Build the suite's own programs for a site before anything is measured.

``python -m reframe_checks.base.programs SITE [ENVIRONMENT…]`` builds the programs that ReFrame would build in its first
session (``make programs``). So no compiler runs beside a measurement where login and compute nodes share cores.
ReFrame builds for environments with modules, because ReFrame loads the modules.
"""

import argparse
import importlib
import pkgutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import reframe_checks
from kappa.core.ground.folders import site_folder
from reframe_checks.base.cmake_program import CMakeProgram, build_command, folder_of
from reframe_checks.base.site_settings import site_configuration_of

FOLDERS = ("application", "compute", "network", "node", "storage")


def programs():
    """Return the class of every program that the suite builds."""
    for folder in FOLDERS:
        package = importlib.import_module(f"{reframe_checks.__name__}.{folder}")
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    return list(_derived(CMakeProgram))


def _derived(base):
    for one in base.__subclasses__():
        yield one
        yield from _derived(one)


def builds(environments):
    """Yield a title and the build command of each program, for each of ReFrame's environments that can build it."""
    for environment in environments:
        features, extras = environment["features"], environment["extras"]
        if "build_dir" not in extras or environment["modules"]:
            continue
        for program in programs():
            if program.built_with in features and program.installed.default_value not in features:
                yield f"{folder_of(program, extras).name} for {environment['name']}", build_command(program, extras)


def main():
    parser = argparse.ArgumentParser("python -m reframe_checks.base.programs", description=__doc__.split("\n", 1)[0])
    parser.add_argument("site", help="name of the site")
    parser.add_argument("environments", nargs="*", help="environments to build for (default: all)")
    options = parser.parse_args()
    environments = site_configuration_of(site_folder(options.site))["environments"]
    wanted = [one for one in environments if one["name"] in options.environments or not options.environments]
    return run(builds(wanted))


def run(commands):
    """Run the titled commands, two at a time: near its end, a build cannot keep all cores busy.

    Print the seconds of each command, and the output of a command that fails. Return the exit status: 0 if all
    succeeded.
    """

    def one(title, command):
        began = time.monotonic()
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            print(f"{done.stdout}\nprograms: cannot build {title}: exit status {done.returncode}", file=sys.stderr)
        else:
            print(f"programs: {title}: {time.monotonic() - began:.0f} s", flush=True)
        return done.returncode

    with ThreadPoolExecutor(max_workers=2) as builders:
        return int(any(builders.map(lambda titled: one(*titled), commands)))


if __name__ == "__main__":
    sys.exit(main())
