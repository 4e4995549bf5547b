# What `make install` puts where: header, libraries, pkg-config file, CMake package, manual page,
# completion. (The command's rule is next to its target in CMakeLists.txt.)
include(CMakePackageConfigHelpers)

install(TARGETS hilo_shared hilo_static hilo_runtime EXPORT hilo)
install(FILES include/hilo.h TYPE INCLUDE)
install(FILES man/hilo.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES completions/hilo.bash RENAME hilo
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)

# The prefix follows from the place of the file: `cmake --install --prefix` and moved trees work.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_prefix /${pc_dir} /)
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
list(TRANSFORM static_libs PREPEND "-l" REGEX "^[^-/]" OUTPUT_VARIABLE pc_libs)
list(JOIN pc_libs " " pc_libs)
configure_file(cmake/hilo.pc.in hilo.pc @ONLY)
configure_file(cmake/hilo-runtime.pc.in hilo-runtime.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/hilo.pc ${PROJECT_BINARY_DIR}/hilo-runtime.pc DESTINATION ${pc_dir})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hilo)
install(EXPORT hilo NAMESPACE hilo:: FILE hilo-config.cmake DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hilo-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/hilo-config-version.cmake DESTINATION ${package_dir})
