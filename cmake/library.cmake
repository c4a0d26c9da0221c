# The library: every source of the framework and of the transports.

file(GLOB_RECURSE smc_sources CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/framework/src/*.cpp
  ${PROJECT_SOURCE_DIR}/transports/*.cpp)
list(FILTER smc_sources EXCLUDE REGEX "/main[^/]*\\.cpp$")

add_library(asio-smc ${smc_sources})
add_library(asio-smc::asio-smc ALIAS asio-smc)
smc_settings(asio-smc)

target_compile_features(asio-smc PUBLIC cxx_std_20)
target_include_directories(asio-smc
  PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/framework/include>
         $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
  PRIVATE ${PROJECT_SOURCE_DIR}/framework/src ${PROJECT_SOURCE_DIR}/transports)
target_link_libraries(asio-smc PUBLIC Asio::Asio Threads::Threads)
target_compile_definitions(asio-smc PUBLIC
  ASIO_STANDALONE
  # Asio 1.22 does not see that clang has standard coroutines.
  "$<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:ASIO_HAS_CO_AWAIT=1;ASIO_HAS_STD_COROUTINE=1>")
if(SMC_ASIO_SEPARATE_COMPILATION)
  target_compile_definitions(asio-smc PUBLIC ASIO_SEPARATE_COMPILATION)
  target_sources(asio-smc PRIVATE ${PROJECT_SOURCE_DIR}/third_party/asio_implementation.cpp)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/third_party/asio_implementation.cpp
    PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endif()
# RDMA: only the header is needed to build, see transports/smcr/verbs.
find_package(Verbs)
if(Verbs_FOUND)
  target_link_libraries(asio-smc PRIVATE $<BUILD_INTERFACE:Verbs::headers>)
  target_compile_definitions(asio-smc PRIVATE SMC_WITH_VERBS)
endif()

# Position independent when static too: it may end up in a shared library of the program.
set_target_properties(asio-smc PROPERTIES
  POSITION_INDEPENDENT_CODE ON
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

if(BUILD_SHARED_LIBS)
  target_link_options(asio-smc PRIVATE
    LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map LINKER:-z,defs)
  set_property(TARGET asio-smc PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
endif()

if(SMC_PRECOMPILE)
  target_precompile_headers(asio-smc PRIVATE
    <asio.hpp> <algorithm> <array> <atomic> <bit> <chrono> <cstddef> <cstdint> <cstring> <deque>
    <functional> <map> <memory> <mutex> <optional> <span> <string> <string_view> <system_error>
    <unordered_map> <utility> <variant> <vector>)
endif()
