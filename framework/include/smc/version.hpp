#pragma once
// The library's version, and a guard that refuses to link what was not built alike.
//
// Asio is a header library: its types are laid out anew in every program that includes it, and a
// few of its macros change that layout. A program compiled with other settings than the library
// would be undefined behaviour that nobody reports. So every translation unit that includes a
// header of this library refers to one symbol whose *name* spells the settings; the library defines
// only the one it was built with. The linker's message then reads, for instance:
//
//   undefined reference to
//   `smc::detail::library_needed::smc_0_1::asio_102201::asio_separate_compilation::…'
//
// Nothing of it is executed; it costs one pointer in the program's read-only data.
#include <asio/error_code.hpp>
#include <asio/version.hpp>

#define SMC_VERSION_MAJOR 0
#define SMC_VERSION_MINOR 1
#define SMC_VERSION_PATCH 0
#define SMC_VERSION_STRING "0.1.0"

/// Comparable number, 0.1.0 is 100: major * 10000 + minor * 100 + patch.
#define SMC_VERSION (SMC_VERSION_MAJOR * 10000 + SMC_VERSION_MINOR * 100 + SMC_VERSION_PATCH)

#define SMC_DETAIL_PASTE_(a, b) a##b
#define SMC_DETAIL_PASTE(a, b) SMC_DETAIL_PASTE_(a, b)

// Until 1.0 a new minor version may change the binary interface; afterwards only a new major one.
#define SMC_DETAIL_ABI_VERSION                                \
  SMC_DETAIL_PASTE(SMC_DETAIL_PASTE(smc_, SMC_VERSION_MAJOR), \
                   SMC_DETAIL_PASTE(_, SMC_VERSION_MINOR))
#define SMC_DETAIL_ABI_ASIO SMC_DETAIL_PASTE(asio_, ASIO_VERSION)

// Not a matter of layout: of the error categories, which are compared by address, a mixed program
// would have two, one in inline functions and one in the others.
#if defined(ASIO_SEPARATE_COMPILATION) || defined(ASIO_DYN_LINK)
#define SMC_DETAIL_ABI_COMPILATION asio_separate_compilation
#else
#define SMC_DETAIL_ABI_COMPILATION asio_header_only
#endif

#if defined(ASIO_HAS_EPOLL)
#if defined(ASIO_HAS_IO_URING)
#define SMC_DETAIL_ABI_REACTOR asio_epoll_with_io_uring
#else
#define SMC_DETAIL_ABI_REACTOR asio_epoll
#endif
#elif defined(ASIO_HAS_IO_URING)
#define SMC_DETAIL_ABI_REACTOR asio_io_uring
#else
#define SMC_DETAIL_ABI_REACTOR asio_other_reactor
#endif

#if defined(ASIO_HAS_THREADS)
#define SMC_DETAIL_ABI_THREADS asio_threads
#else
#define SMC_DETAIL_ABI_THREADS asio_without_threads
#endif

#if defined(ASIO_ENABLE_HANDLER_TRACKING) || defined(ASIO_CUSTOM_HANDLER_TRACKING)
#define SMC_DETAIL_ABI_TRACKING asio_handler_tracking
#else
#define SMC_DETAIL_ABI_TRACKING asio_without_tracking
#endif

#if defined(ASIO_ENABLE_BUFFER_DEBUGGING)
#define SMC_DETAIL_ABI_BUFFERS asio_debugged_buffers
#else
#define SMC_DETAIL_ABI_BUFFERS asio_plain_buffers
#endif

#if defined(ASIO_USE_TS_EXECUTOR_AS_DEFAULT)
#define SMC_DETAIL_ABI_EXECUTOR asio_ts_executor
#else
#define SMC_DETAIL_ABI_EXECUTOR asio_any_io_executor
#endif

#if defined(ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE) && ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE != 2
#define SMC_DETAIL_ABI_RECYCLING asio_other_recycling_cache
#else
#define SMC_DETAIL_ABI_RECYCLING asio_default_recycling_cache
#endif

#if defined(_GLIBCXX_DEBUG)
#define SMC_DETAIL_ABI_CONTAINERS glibcxx_debug
#else
#define SMC_DETAIL_ABI_CONTAINERS plain_containers
#endif

#define SMC_DETAIL_ABI                                                               \
  detail::library_needed::SMC_DETAIL_ABI_VERSION::SMC_DETAIL_ABI_ASIO::              \
      SMC_DETAIL_ABI_COMPILATION::SMC_DETAIL_ABI_REACTOR::SMC_DETAIL_ABI_THREADS::   \
          SMC_DETAIL_ABI_TRACKING::SMC_DETAIL_ABI_BUFFERS::SMC_DETAIL_ABI_EXECUTOR:: \
              SMC_DETAIL_ABI_RECYCLING::SMC_DETAIL_ABI_CONTAINERS

namespace smc {

inline constexpr int version_major = SMC_VERSION_MAJOR;
inline constexpr int version_minor = SMC_VERSION_MINOR;
inline constexpr int version_patch = SMC_VERSION_PATCH;

/// The version of the library that was linked, which may be a later patch than the headers':
/// "0.1.0". Any thread; the text lives as long as the program.
const char* library_version() noexcept;

// Also the guard's own name carries the settings: else the linker would merge the guards of two
// translation units of one program that differ, and keep either.
namespace SMC_DETAIL_ABI {

extern const char built_alike;
[[gnu::used]] inline constexpr const char* guard = &built_alike;

}  // namespace SMC_DETAIL_ABI

}  // namespace smc
