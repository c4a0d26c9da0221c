#include "loop/loop_service.hpp"

#include <smc/detail/loop_core.hpp>

namespace smc::detail {

asio::execution_context::id loop_service::id;

loop_core* loop_of(asio::execution_context& context) {
  return asio::use_service<loop_service>(context).loop();
}

}  // namespace smc::detail
