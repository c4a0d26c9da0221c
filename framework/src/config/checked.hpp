#pragma once
#include <smc/config.hpp>

namespace smc::config_detail {

/// `value` with its sizes rounded as documented, or std::invalid_argument naming the first field
/// that is wrong and what would be right. For every config that a program hands in.
config checked(config value);

}  // namespace smc::config_detail
