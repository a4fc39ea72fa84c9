# Writes the kernels, which the driver compiles at run time, as one C string.
# cmake -D OUT=FILE -D SOURCES=FILE,FILE... -P embed.cmake
string(REPLACE "," ";" files "${SOURCES}")
set(all "")
foreach(file ${files})
    file(READ ${file} hex HEX)
    string(APPEND all ${hex})
endforeach()
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${all}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUT} "/* Made of src/opencl/kernels. */\nextern const char lethe_opencl_source[];\nconst char lethe_opencl_source[] = {\n${bytes}0x00};\n")
