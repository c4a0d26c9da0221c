#include "loop/default_options.hpp"

namespace smc::detail {

event_loop_options default_loop_options() { return {}; }

}  // namespace smc::detail
