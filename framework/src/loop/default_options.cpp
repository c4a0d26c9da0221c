#include "loop/default_options.hpp"

#include <smc/config.hpp>

namespace smc::detail {

event_loop_options default_loop_options() {
  const config& settings = config::process_default();
  return {settings.spin, settings.spin_time};
}

}  // namespace smc::detail
