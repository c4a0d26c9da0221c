#pragma once
// A transport within one process, for tests of what is above the seam: kind `other`, name "memory".
//
// It is negotiated as the real ones are and uses nothing but the seam (stream/transport.hpp,
// negotiation/handshake.hpp). The server leaves its part of the connection in a table of the
// process, under a random key that the ACCEPT's extension carries; a client in another process
// finds nothing there, and the connection is TCP with reason::other_host. What is to go wrong:
// memory_faults.hpp.
//
// Not for connections that a fork() divides.
#include "support/memory_faults.hpp"

namespace smc::test {

/// Registers the transport, once. A configuration wants it with transport_kind::other. Any thread.
void use_memory_transport();

}  // namespace smc::test
