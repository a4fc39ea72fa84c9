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

# lethe_add_pytest_each(PREFIX [EXCEPT subject...] [SECONDS subject seconds...] [ENVIRONMENT
# NAME=VALUE...]): each of the folder's files test_SUBJECT.py as a test of its own, PREFIX-SUBJECT,
# so that they run side by side. SECONDS tells about how long those take that take long: these
# start first, or the last of them would run alone at the end.
function(lethe_add_pytest_each prefix)
    cmake_parse_arguments(PARSE_ARGV 1 argument "" "" "EXCEPT;SECONDS;ENVIRONMENT")
    file(GLOB files CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} test_*.py)
    foreach(file ${files})
        string(REGEX REPLACE "^test_(.*)\\.py$" "\\1" subject ${file})
        if(subject IN_LIST argument_EXCEPT)
            continue()
        endif()
        lethe_add_pytest_file(${prefix}-${subject} ${file} ENVIRONMENT ${argument_ENVIRONMENT})
        set_tests_properties(${prefix}-${subject} PROPERTIES TIMEOUT 900)
        list(FIND argument_SECONDS ${subject} at)
        if(NOT at EQUAL -1)
            math(EXPR at "${at} + 1")
            list(GET argument_SECONDS ${at} seconds)
            set_tests_properties(${prefix}-${subject} PROPERTIES COST ${seconds})
        endif()
    endforeach()
endfunction()
