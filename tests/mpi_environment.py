"""The environment of MPI programs in tests: any user, any number of ranks, ranks that wait without a core."""

#: Open MPI refuses root and more ranks than cores unless told otherwise; other MPI libraries ignore these. MPI
#: libraries keep memory until the process ends: a build with sanitizers does not look for leaks.
MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "ASAN_OPTIONS": "detect_leaks=0",
}
