"""The common parts of all checks; docs/architecture.md describes each file. They import core and ``spack_envs``."""
