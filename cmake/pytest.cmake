# lethe_add_pytest(NAME [ENVIRONMENT NAME=VALUE...]): the calling folder's pytest files as one
# CTest test. The tests get the folders they need in their environment:
#   LETHE_SOURCE_DIR, LETHE_BUILD_DIR, CC and CMAKE.
include_guard()

# The distribution's own Python comes first: pytest is installed for that one, and another
# python3 that is earlier in PATH may lack it.
find_program(LETHE_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(LETHE_PYTHON python3 REQUIRED)

function(lethe_add_pytest name)
    lethe_add_pytest_file(${name} "" ${ARGN})
endfunction()

# lethe_add_pytest_file(NAME FILE [ENVIRONMENT NAME=VALUE...]): one of the folder's files.
function(lethe_add_pytest_file name file)
    cmake_parse_arguments(PARSE_ARGV 2 argument "" "" "ENVIRONMENT")
    add_test(NAME ${name}
        COMMAND ${LETHE_PYTHON} -B -m pytest -q -p no:cacheprovider ${CMAKE_CURRENT_SOURCE_DIR}/${file}
        WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
    set_tests_properties(${name} PROPERTIES ENVIRONMENT
        "LETHE_SOURCE_DIR=${PROJECT_SOURCE_DIR};LETHE_BUILD_DIR=${PROJECT_BINARY_DIR};CC=${CMAKE_C_COMPILER};CMAKE=${CMAKE_COMMAND};${argument_ENVIRONMENT}")
endfunction()
