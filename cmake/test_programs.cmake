# smc_test_program(name SOURCES … [LABELS …] [TIMEOUT seconds] [LIBRARIES …]): one test program with the common
# main (tests/support/main.cpp: watchdog, resource check), registered with CTest under the same name.
# Label `sanitizer` (the default besides `unit`) puts it into the subset that runs under the sanitizers.

if(SMC_LIBSTDCXX_DEBUG)  # which changes containers, and those cross its interface
  add_subdirectory(/usr/src/googletest/googletest ${PROJECT_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
else()
  find_package(GTest REQUIRED)
endif()
find_package(rapidcheck REQUIRED)

add_library(smc_test_support STATIC
  ${PROJECT_SOURCE_DIR}/tests/support/main.cpp
  ${PROJECT_SOURCE_DIR}/tests/support/memory_channel.cpp
  ${PROJECT_SOURCE_DIR}/tests/support/memory_connection.cpp
  ${PROJECT_SOURCE_DIR}/tests/support/memory_faults.cpp
  ${PROJECT_SOURCE_DIR}/tests/support/memory_transport.cpp
  ${PROJECT_SOURCE_DIR}/tests/support/other_process.cpp
  ${PROJECT_SOURCE_DIR}/tests/support/resources.cpp
  ${PROJECT_SOURCE_DIR}/tests/support/watchdog.cpp)
set_target_properties(smc_test_support PROPERTIES EXCLUDE_FROM_ALL ON)

# Tests are compiled once and run for seconds: compile time counts.
add_library(smc_test_settings INTERFACE)
target_compile_options(smc_test_settings INTERFACE $<$<CONFIG:Release>:-O1>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms of g++ 12 inside std::string, which tests concatenate a lot (GCC bugs 105329, 105651).
  target_compile_options(smc_test_settings INTERFACE -Wno-array-bounds -Wno-restrict)
endif()
target_include_directories(smc_test_settings INTERFACE
  ${PROJECT_SOURCE_DIR}/framework/src ${PROJECT_SOURCE_DIR}/transports ${PROJECT_SOURCE_DIR}
  ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(smc_test_settings INTERFACE asio-smc rapidcheck GTest::gtest)

smc_settings(smc_test_support)
target_link_libraries(smc_test_support PUBLIC smc_test_settings)
if(SMC_PRECOMPILE)
  target_precompile_headers(smc_test_support PRIVATE
    <asio.hpp> <gtest/gtest.h> <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <functional>
    <memory> <optional> <span> <string> <string_view> <system_error> <thread> <variant> <vector>)
endif()

set(smc_test_environment
  "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:die_after_fork=0"
  "UBSAN_OPTIONS=print_stacktrace=1"
  "ASAN_OPTIONS=detect_stack_use_after_return=1")

function(smc_test_program name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LABELS;LIBRARIES" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 900)
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit sanitizer)
  endif()
  string(REPLACE "/" "_" target "test_${name}")
  add_executable(${target} ${arg_SOURCES})
  smc_settings(${target})
  target_link_libraries(${target} PRIVATE smc_test_support ${arg_LIBRARIES})
  if(SMC_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM smc_test_support)
  endif()
  add_test(NAME ${name} COMMAND ${target} --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}" ENVIRONMENT "${smc_test_environment}")
endfunction()
