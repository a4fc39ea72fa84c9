# Writes files as C arrays: cmake -DOUTPUT=page_files.c "-DFILES=a.html;b.js" -P embed.cmake
#
# index.html becomes the path "/", any other file "/page/NAME". CMake does it, because everybody who
# builds has it. The rows are in the order of their paths, which is the order of page.h.
set(type.html "text/html; charset=utf-8")
set(type.css "text/css; charset=utf-8")
set(type.js "text/javascript; charset=utf-8")
set(type.svg "image/svg+xml")

set(rows "")
set(arrays "")
set(number 0)
foreach(file IN LISTS FILES)
    get_filename_component(name ${file} NAME)
    get_filename_component(ending ${file} LAST_EXT)
    if(NOT DEFINED type${ending})
        message(FATAL_ERROR "${file}: which media type has ${ending}?")
    endif()
    set(path "/page/${name}")
    if(name STREQUAL "index.html")
        set(path "/")
    endif()
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(APPEND arrays "static const unsigned char file_${number}[] = {${bytes}};\n")
    # A semicolon would end an element of the list: it is put back below.
    string(REPLACE ";" "<semicolon>" row
        "    {\"${path}\", \"${type${ending}}\", file_${number}, sizeof file_${number}},\n")
    list(APPEND rows "${row}")
    math(EXPR number "${number} + 1")
endforeach()
list(SORT rows)
string(REPLACE ";" "" rows "${rows}")
string(REPLACE "<semicolon>" ";" rows "${rows}")

file(WRITE ${OUTPUT} "/* Written by server/page/embed.cmake. */\n#include \"page/page.h\"\n\n${arrays}
const struct page_file page_files[] = {\n${rows}};
const size_t page_file_count = sizeof page_files / sizeof page_files[0];\n")
