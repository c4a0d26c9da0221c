#pragma once
#include <smc/event_loop_options.hpp>

namespace smc::detail {

/// The options of loops made without any: the process's defaults.
event_loop_options default_loop_options();

}  // namespace smc::detail
