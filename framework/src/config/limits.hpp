#pragma once
// What the fields of a config may hold, whatever their source. Each function throws wrong_value.
#include <chrono>
#include <cstddef>
#include <smc/config.hpp>
#include <string>
#include <vector>

namespace smc::config_detail {

/// The power of two that a ring of `bytes` gets.
std::size_t allowed_ring_size(std::size_t bytes);
void check_transports(const std::vector<transport_kind>& kinds);
void check_spin_time(std::chrono::microseconds time);
void check_timeout(std::chrono::milliseconds time);
void check_rendezvous_directory(const std::string& path);
void check_eids(const std::vector<std::string>& eids);

}  // namespace smc::config_detail
