#include <smc/event_loop.hpp>

#include "loop/default_options.hpp"

namespace smc {

event_loop::event_loop() : event_loop(detail::default_loop_options()) {}
event_loop::event_loop(const event_loop_options& options) : core_(options) {}
event_loop::~event_loop() = default;

}  // namespace smc
