"""What every check is made of; docs/architecture.md says which file does what. It imports core and ``spack_envs``."""
