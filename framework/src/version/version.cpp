#include <smc/version.hpp>

namespace smc {

const char* library_version() noexcept { return SMC_VERSION_STRING; }

namespace SMC_DETAIL_ABI {

const char built_alike = 1;

}  // namespace SMC_DETAIL_ABI

}  // namespace smc
