# Said at once, not by hundreds of errors: older ones lack parts of C++20.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 11)
  message(FATAL_ERROR "GCC ${CMAKE_CXX_COMPILER_VERSION} (${CMAKE_CXX_COMPILER}) is too old for C++20, which takes GCC "
    "11: load a newer one by a module, or `source /opt/rh/gcc-toolset-12/enable`, and let the site's environment name it "
    "(`cxx`, `modules` or `prepare_cmds`; for MPI's compiler also OMPI_CXX or MPICH_CXX)")
endif()
