#pragma once
// Everything: streams for Asio whose transport is chosen at the handshake.
#include <smc/acceptor.hpp>
#include <smc/config.hpp>
#include <smc/connect.hpp>
#include <smc/deadline.hpp>
#include <smc/error.hpp>
#include <smc/event_loop.hpp>
#include <smc/peer_identity.hpp>
#include <smc/statistics.hpp>
#include <smc/stream.hpp>
#include <smc/transfer.hpp>
#include <smc/transport_kind.hpp>
#include <smc/version.hpp>
