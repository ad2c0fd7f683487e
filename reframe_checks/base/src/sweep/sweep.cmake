# What the programs that measure every node or pair of nodes share.
include(${CMAKE_CURRENT_LIST_DIR}/../../../../emt_app/cxx20.cmake)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug, RelWithDebInfo" FORCE)
endif()
option(SWEEP_SANITIZE "Address and undefined-behaviour sanitizers" OFF)
option(SWEEP_WERROR "Warnings are errors" OFF)
option(SWEEP_TESTS "Build the unit tests (needs GoogleTest)" OFF)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

find_package(MPI REQUIRED COMPONENTS CXX)
find_package(nlohmann_json 3.9 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Threads REQUIRED)

add_compile_options(-Wall -Wextra -Wconversion)
if(SWEEP_WERROR)
  add_compile_options(-Werror)
endif()
# Measured loops, and what reads arguments: CLI11 takes half of the time to build. The sanitizers measure nothing, and
# optimised with them one file took two minutes.
set(kernel_flags "-O3")
set(main_flags "-O1")
if(SWEEP_SANITIZE)
  set(kernel_flags "-O1")
  set(main_flags "-O0")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

add_library(sweep INTERFACE)
target_include_directories(sweep INTERFACE ${CMAKE_CURRENT_LIST_DIR})
target_link_libraries(sweep INTERFACE MPI::MPI_CXX nlohmann_json::nlohmann_json CLI11::CLI11 Threads::Threads)
