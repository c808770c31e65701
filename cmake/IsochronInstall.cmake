# What `cmake --install` puts under a prefix: the library, its headers, the command, and the two ways to
# find them: a CMake package and a pkg-config file. All of it may be moved afterwards.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/isochron)
install(TARGETS isochron EXPORT isochronTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS isochron_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# What `isochron demo` trains.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/data DESTINATION ${CMAKE_INSTALL_DATADIR}/isochron)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/isochron DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*-inl.h" EXCLUDE)
install(EXPORT isochronTargets NAMESPACE isochron:: DESTINATION ${package_folder})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/isochronConfig.cmake.in
  ${PROJECT_BINARY_DIR}/isochronConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/isochronConfigVersion.cmake COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH ISOCHRON_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" ISOCHRON_PC_TO_PREFIX "${ISOCHRON_PC_TO_PREFIX}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/isochron.pc.in ${PROJECT_BINARY_DIR}/isochron.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/isochronConfig.cmake ${PROJECT_BINARY_DIR}/isochronConfigVersion.cmake
        DESTINATION ${package_folder})
install(FILES ${PROJECT_BINARY_DIR}/isochron.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
