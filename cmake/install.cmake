# What gets installed, and where: the libraries, the public headers, the programs, the server module, what
# pkg-config and find_package(lethe) need to find them, the documents and the examples. All of it can be
# moved as a whole: each part finds the others from where it lies.
#
# The target "product" builds all that is installed and nothing else.
include(CMakePackageConfigHelpers)

install(DIRECTORY include/lethe TYPE INCLUDE FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(TARGETS lethe)
# A server loads no module that is not executable, which Debian's CMake would make of it.
install(TARGETS lethe_module DESTINATION ${CMAKE_INSTALL_LIBDIR}/lethe PERMISSIONS OWNER_READ OWNER_WRITE
    OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
install(TARGETS lethe-serve DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/lethe)
add_custom_target(product DEPENDS lethe lethe-serve lethe_module documents)
if(TARGET lethe_leveldb_shared)
    install(FILES plugins/leveldb/include/lethe/leveldb.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lethe)
endif()
if(TARGET lethe-bench)
    install(TARGETS lethe-bench DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/lethe)
    add_dependencies(product lethe-bench)
endif()

# find_package(lethe): lethe::lethe is the shared library, lethe::lethe-static the static one; the engine is
# lethe::lethe_store and lethe::lethe_store-static, the plug-in of LevelDB lethe::lethe_leveldb and
# lethe::lethe_leveldb-static, the library for devices lethe::lethe_opencl and lethe::lethe_opencl-static.
# Each library has a file of its own, so that it can be packaged by itself.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lethe)
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
# Where pkg-config's files are decides the prefix, unless a folder is given that does not move with it.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
    set(pc_prefix ${CMAKE_INSTALL_PREFIX})
    set(pc_libdir ${CMAKE_INSTALL_FULL_LIBDIR})
    set(pc_includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
elseif(LETHE_RPATH)
    file(RELATIVE_PATH up /${pkgconfig_dir} /)
    string(REGEX REPLACE "/$" "" up ${up})
    set(pc_prefix "\${pcfiledir}/${up}")
    set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
    set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
else()
    set(pc_prefix ${CMAKE_INSTALL_PREFIX})
    set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
    set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
# Programs look for the shared libraries where pkg-config found them, so that they start wherever the prefix
# is. Libraries look for each other in their own folder.
if(LETHE_RPATH)
    set(pc_rpath "-Wl,-rpath,\${libdir} ")
endif()

# What the archives of RocksDB and LevelDB need in turn, for programs that are linked with -static: of these
# libraries those that are here. lethe-config.cmake looks for them again.
set(LETHE_ROCKSDB_NEEDS snappy z bz2 lz4 zstd gflags)
set(LETHE_LEVELDB_NEEDS snappy)
foreach(host ROCKSDB LEVELDB)
    set(pc_needs_${host} "")
    foreach(name ${LETHE_${host}_NEEDS})
        find_library(LETHE_NEEDED_${name} ${name})
        mark_as_advanced(LETHE_NEEDED_${name})
        if(LETHE_NEEDED_${name})
            string(APPEND pc_needs_${host} "-l${name} ")
        endif()
    endforeach()
    string(APPEND pc_needs_${host} "-lstdc++ -lm")
endforeach()

foreach(name lethe lethe_store lethe_leveldb lethe_opencl)
    if(NOT TARGET ${name}_shared)
        continue()
    endif()
    set_target_properties(${name}_shared PROPERTIES EXPORT_NAME ${name})
    set_target_properties(${name}_static PROPERTIES EXPORT_NAME ${name}-static)
    if(LETHE_RPATH AND NOT name STREQUAL "lethe") # which needs no other one of ours
        set_target_properties(${name}_shared PROPERTIES INSTALL_RPATH "$ORIGIN")
    endif()
    install(TARGETS ${name}_shared ${name}_static EXPORT ${name}-targets)
    install(EXPORT ${name}-targets NAMESPACE lethe:: DESTINATION ${package_dir})
    add_dependencies(product ${name}_shared ${name}_static)
    configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${pkgconfig_dir})
endforeach()

configure_package_config_file(cmake/lethe-config.cmake.in lethe-config.cmake
    INSTALL_DESTINATION ${package_dir})
# While the major version is 0 a new minor version may break programs.
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(compatibility SameMinorVersion)
else()
    set(compatibility SameMajorVersion)
endif()
write_basic_package_version_file(lethe-config-version.cmake COMPATIBILITY ${compatibility})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lethe-config.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/lethe-config-version.cmake DESTINATION ${package_dir})

# The target "documents" has lethe itself write its man pages and completions, which it can do
# only on a machine that it was built for.
if(NOT CMAKE_CROSSCOMPILING)
    install(DIRECTORY ${CMAKE_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
        FILES_MATCHING PATTERN "*.1")
    install(FILES ${CMAKE_BINARY_DIR}/completions/lethe.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME lethe)
    install(FILES ${CMAKE_BINARY_DIR}/completions/_lethe
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${CMAKE_BINARY_DIR}/completions/lethe.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
install(FILES LICENSE README.md docs/serve/lethe.service DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/lethe)
# Examples: one for each public header, of the libraries that there are.
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/lethe/examples)
# The site, if `make docs` has built it.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/build/docs/html DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/lethe OPTIONAL)
