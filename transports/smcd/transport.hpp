#pragma once
// SMC-D over loopback as a transport: how connections come to be, over the local rendezvous.
#include <memory>

#include "negotiation/handshake.hpp"

namespace smc::smcd {

std::unique_ptr<negotiation::transport> make_transport();

}  // namespace smc::smcd
