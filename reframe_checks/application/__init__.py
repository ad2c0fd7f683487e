"""Checks of whole applications: EMT, GROMACS, LAMMPS, OpenFOAM and a sparse direct solver."""
