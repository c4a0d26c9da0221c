# Finds standalone Asio, which brings no CMake package of its own.
#
#   find_package(Asio 1.22.1...<1.23 REQUIRED)
#
# Target:    Asio::Asio (headers only)
# Variables: Asio_FOUND, Asio_VERSION, Asio_INCLUDE_DIR (cached; set it for an Asio in an unusual place)

find_path(Asio_INCLUDE_DIR NAMES asio/version.hpp DOC "The folder that contains asio.hpp")
mark_as_advanced(Asio_INCLUDE_DIR)

unset(Asio_VERSION)
if(Asio_INCLUDE_DIR)
  file(STRINGS "${Asio_INCLUDE_DIR}/asio/version.hpp" _asio_line REGEX "^#define ASIO_VERSION [0-9]+")
  if(_asio_line MATCHES "ASIO_VERSION ([0-9]+)")
    math(EXPR _asio_major "${CMAKE_MATCH_1} / 100000")
    math(EXPR _asio_minor "${CMAKE_MATCH_1} / 100 % 1000")
    math(EXPR _asio_patch "${CMAKE_MATCH_1} % 100")
    set(Asio_VERSION "${_asio_major}.${_asio_minor}.${_asio_patch}")
  endif()
  unset(_asio_line)
  unset(_asio_major)
  unset(_asio_minor)
  unset(_asio_patch)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Asio
  REQUIRED_VARS Asio_INCLUDE_DIR Asio_VERSION
  VERSION_VAR Asio_VERSION
  HANDLE_VERSION_RANGE
  REASON_FAILURE_MESSAGE "On Debian: apt-get install libasio-dev")

if(Asio_FOUND AND NOT TARGET Asio::Asio)
  add_library(Asio::Asio INTERFACE IMPORTED)
  set_target_properties(Asio::Asio PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${Asio_INCLUDE_DIR}")
endif()
