# smc_settings(target): how everything of this project is compiled; nothing of it reaches a consumer.

find_program(SMC_CCACHE ccache)
mark_as_advanced(SMC_CCACHE)

add_library(smc_settings INTERFACE)
target_compile_options(smc_settings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  $<$<BOOL:${SMC_WERROR}>:-Werror>
  # What ccache needs to reuse results together with precompiled headers.
  $<$<AND:$<BOOL:${SMC_PRECOMPILE}>,$<CXX_COMPILER_ID:GNU>>:-fpch-preprocess>
  "$<$<AND:$<BOOL:${SMC_PRECOMPILE}>,$<CXX_COMPILER_ID:Clang>>:SHELL:-Xclang -fno-pch-timestamp>")

if(SMC_SANITIZE)
  target_compile_options(smc_settings INTERFACE
    -fsanitize=${SMC_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(smc_settings INTERFACE -fsanitize=${SMC_SANITIZE})
  if(SMC_SANITIZE MATCHES "undefined")
    # This check opens a pipe to look at memory, and takes objects for invalid where no descriptors are left.
    target_compile_options(smc_settings INTERFACE -fno-sanitize=vptr)
  endif()
  if(SMC_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Asio's fences are correct but unknown to TSan; g++ says so at each of them.
    target_compile_options(smc_settings INTERFACE -Wno-tsan)
  endif()
endif()

if(SMC_LIBSTDCXX_DEBUG)  # of everything that is built here, since it changes the layout of containers
  add_compile_definitions(_GLIBCXX_DEBUG)
endif()

function(smc_settings target)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:smc_settings>)
  target_compile_definitions(${target} PRIVATE ASIO_NO_DEPRECATED ASIO_NO_TS_EXECUTORS)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  if(SMC_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${SMC_CCACHE}")
  endif()
endfunction()
