# What `cmake --install` lays down: library, headers, CMake package, pkg-config file. Nothing in it knows the
# prefix: the installed tree can be moved.

include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/asio-smc)

install(TARGETS asio-smc EXPORT asio-smc-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT asio-smc
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT asio-smc
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT asio-smc
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/framework/include/smc
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT asio-smc FILES_MATCHING PATTERN "*.hpp")
install(EXPORT asio-smc-targets NAMESPACE asio-smc:: DESTINATION ${package_dir} COMPONENT asio-smc)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/asio-smc-config.cmake.in
  ${PROJECT_BINARY_DIR}/package/asio-smc-config.cmake INSTALL_DESTINATION ${package_dir})
# Until 1.0 a minor version may break.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/asio-smc-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
    ${PROJECT_BINARY_DIR}/package/asio-smc-config.cmake
    ${PROJECT_BINARY_DIR}/package/asio-smc-config-version.cmake
    ${PROJECT_SOURCE_DIR}/third_party/FindAsio.cmake
  DESTINATION ${package_dir} COMPONENT asio-smc)

# The prefix as seen from the .pc file's own folder.
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_LIBDIR BASE_DIRECTORY /prefix OUTPUT_VARIABLE pc_dir)
cmake_path(APPEND pc_dir pkgconfig)
set(pc_prefix /prefix)
cmake_path(RELATIVE_PATH pc_prefix BASE_DIRECTORY ${pc_dir} OUTPUT_VARIABLE pc_to_prefix)
set(pc_asio)
if(SMC_ASIO_SEPARATE_COMPILATION)
  set(pc_asio " -DASIO_SEPARATE_COMPILATION")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/asio-smc.pc.in ${PROJECT_BINARY_DIR}/package/asio-smc.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/asio-smc.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT asio-smc)
