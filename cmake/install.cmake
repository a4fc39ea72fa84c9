# What gets installed, and where: both libraries, the public headers, the programs, the server module, what
# pkg-config and find_package(lethe) need to find them, and the documents. All of it can be moved
# as a whole: each part finds the others from where it lies.
#
# The target "product" builds all that is installed and nothing else.
include(CMakePackageConfigHelpers)

set_target_properties(lethe_shared PROPERTIES EXPORT_NAME lethe)
set_target_properties(lethe_static PROPERTIES EXPORT_NAME lethe-static)
set_target_properties(lethe_store_shared PROPERTIES EXPORT_NAME lethe_store)
set_target_properties(lethe_store_static PROPERTIES EXPORT_NAME lethe_store-static)
install(TARGETS lethe_shared lethe_static lethe_store_shared lethe_store_static EXPORT lethe-targets)
install(DIRECTORY include/lethe TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(TARGETS lethe)
install(TARGETS lethe_module DESTINATION ${CMAKE_INSTALL_LIBDIR}/lethe)
add_custom_target(product DEPENDS lethe_shared lethe_static lethe_store_shared
    lethe_store_static lethe lethe_module documents)
if(TARGET lethe_leveldb_shared)
    set_target_properties(lethe_leveldb_shared PROPERTIES EXPORT_NAME lethe_leveldb)
    set_target_properties(lethe_leveldb_static PROPERTIES EXPORT_NAME lethe_leveldb-static)
    install(TARGETS lethe_leveldb_shared lethe_leveldb_static EXPORT lethe-targets)
    install(FILES plugins/leveldb/include/lethe/leveldb.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lethe)
    add_dependencies(product lethe_leveldb_shared lethe_leveldb_static)
endif()
if(TARGET lethe_opencl_shared)
    set_target_properties(lethe_opencl_shared PROPERTIES EXPORT_NAME lethe_opencl)
    set_target_properties(lethe_opencl_static PROPERTIES EXPORT_NAME lethe_opencl-static)
    install(TARGETS lethe_opencl_shared lethe_opencl_static EXPORT lethe-targets)
    add_dependencies(product lethe_opencl_shared lethe_opencl_static)
endif()
if(TARGET lethe-bench)
    install(TARGETS lethe-bench DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/lethe)
    add_dependencies(product lethe-bench)
endif()

# find_package(lethe): lethe::lethe is the shared library, lethe::lethe-static the static one; the engine is
# lethe::lethe_store and lethe::lethe_store-static, the plug-in of LevelDB lethe::lethe_leveldb and
# lethe::lethe_leveldb-static, the library for devices lethe::lethe_opencl and lethe::lethe_opencl-static.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lethe)
install(EXPORT lethe-targets NAMESPACE lethe:: DESTINATION ${package_dir})
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

# pkg-config: the prefix is found from where lethe.pc lies.
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
    set(pc_prefix ${CMAKE_INSTALL_PREFIX})
    set(pc_libdir ${CMAKE_INSTALL_FULL_LIBDIR})
    set(pc_includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
    file(RELATIVE_PATH up /${pkgconfig_dir} /)
    string(REGEX REPLACE "/$" "" up ${up})
    set(pc_prefix "\${pcfiledir}/${up}")
    set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
    set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
set(packages lethe lethe_store)
if(TARGET lethe_leveldb_shared)
    list(APPEND packages lethe_leveldb)
endif()
if(TARGET lethe_opencl_shared)
    list(APPEND packages lethe_opencl)
endif()
foreach(name ${packages})
    configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${pkgconfig_dir})
endforeach()

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
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/lethe)
