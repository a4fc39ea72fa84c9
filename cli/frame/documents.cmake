# Has lethe write a man page for each of its commands, and the completions for each shell.
# usage: cmake -D PROGRAM=lethe -D FOLDER=build -P documents.cmake
#
# Writes FOLDER/man/*.1 and FOLDER/completions/lethe.bash, _lethe and lethe.fish, and last, when all
# went well, FOLDER/man/written. Pages of commands that are no more are removed.

# Runs lethe help and stores what it prints in a file.
function(write file)
    execute_process(COMMAND ${PROGRAM} help ${ARGN} OUTPUT_FILE ${file} RESULT_VARIABLE failed)
    if(failed)
        file(REMOVE ${file})
        message(FATAL_ERROR "cannot write ${file}: ${PROGRAM} ended with ${failed}")
    endif()
endfunction()

file(REMOVE_RECURSE ${FOLDER}/man ${FOLDER}/completions)
file(MAKE_DIRECTORY ${FOLDER}/man ${FOLDER}/completions)

execute_process(COMMAND ${PROGRAM} help --format list OUTPUT_VARIABLE names RESULT_VARIABLE failed)
if(failed)
    message(FATAL_ERROR "cannot list the commands: ${PROGRAM} ended with ${failed}")
endif()
string(STRIP "${names}" names)
string(REPLACE "\n" ";" names "${names}")
write(${FOLDER}/man/lethe.1 --format man)
foreach(name ${names})
    string(REPLACE " " ";" words "${name}")
    string(REPLACE " " "-" page "${name}")
    write(${FOLDER}/man/lethe-${page}.1 --format man ${words})
endforeach()

write(${FOLDER}/completions/lethe.bash --format bash)
write(${FOLDER}/completions/_lethe --format zsh)
write(${FOLDER}/completions/lethe.fish --format fish)
file(TOUCH ${FOLDER}/man/written)
