# How all code of the project is compiled: strict C11, warnings, exact floating point, sanitizers.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

include_directories(include src)
include_directories(AFTER ${PROJECT_SOURCE_DIR}) # tests/tools
add_compile_definitions(_GNU_SOURCE HILO_EXPERIMENTAL)
add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Wmissing-prototypes -Wstrict-prototypes)
if(HILO_WERROR)
    add_compile_options(-Werror)
endif()

# A product and a sum are never contracted into one rounding, whatever the target has; errno and the
# floating-point flags are never read, so that sqrt and conversions may be vectorised.
add_compile_options(-ffp-contract=off -fno-math-errno -fno-trapping-math)

# What nothing refers to is left out of what is linked.
add_compile_options(-ffunction-sections -fdata-sections)
add_link_options(-Wl,--as-needed -Wl,--gc-sections)

# No exception passes through C, so that a release needs no tables for unwinding at run time; debuggers have theirs in the debug
# information.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
    add_compile_options(-fno-asynchronous-unwind-tables)
endif()

if(HILO_TORTURE)
    add_compile_definitions(HILO_TORTURE)
endif()
if(HILO_SANITIZE)
    add_compile_options(-fsanitize=${HILO_SANITIZE} -fno-sanitize-recover=all
        -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${HILO_SANITIZE})
endif()
if(HILO_COVERAGE)
    add_compile_options(--coverage)
    add_link_options(--coverage)
endif()

find_package(Threads REQUIRED)
if(HILO_OPENMP)
    find_package(OpenMP COMPONENTS C)
endif()
if(NOT OpenMP_C_FOUND)
    add_compile_options(-Wno-unknown-pragmas)
endif()
