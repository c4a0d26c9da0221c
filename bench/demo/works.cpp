#include "demo/works.hpp"

#include "smcperf/units.hpp"

namespace demo {
namespace {

using smcperf::row;
using smcperf::test_kind;

// A new connection pays for a handshake that TCP alone does not have; it may cost that much, not
// more.
constexpr double least_for_connections = 0.85;

double p50(const row& r) { return static_cast<double>(r.latencies.quantile(0.5)); }
double p99(const row& r) { return static_cast<double>(r.latencies.quantile(0.99)); }
double operations(const row& r) { return r.operations_per_second(); }
double bytes(const row& r) { return r.bytes_per_second(); }

smcperf::client_options options(test_kind kind, std::uint64_t size,
                                std::chrono::nanoseconds slice) {
  smcperf::client_options o;
  o.host = "127.0.0.1";
  o.kind = kind;
  o.size = size;
  o.time = slice;
  o.warmup = slice / 4;
  return o;
}

work round_trip(std::uint64_t size, std::chrono::nanoseconds slice) {
  const std::string name = "round trip " + smcperf::format_size(size);
  return {options(test_kind::latency, size, slice),
          {{name + ", p50", p50, figure::unit::time_ns, 1},
           {name + ", p99", p99, figure::unit::time_ns, 0}}};
}

work bandwidth(std::uint64_t size, std::chrono::nanoseconds slice) {
  work w{
      options(test_kind::stream, size, slice),
      {{"bandwidth, " + smcperf::format_size(size) + " messages", bytes, figure::unit::bytes, 1}}};
  w.options.mode = smcperf::message_mode::whole;
  return w;
}

work connections(bool request, std::chrono::nanoseconds slice) {
  work w{options(test_kind::connect, 100, slice),
         {{request ? "connect, request, reply, close" : "connect, accept, close", operations,
           figure::unit::operations, request ? 1 : least_for_connections}}};
  w.options.request = request;
  return w;
}

}  // namespace

std::string figure::format(double value) const {
  switch (what) {
    case unit::time_ns:
      return smcperf::format_time(value);
    case unit::operations:
      return smcperf::format_rate(value, "/s");
    case unit::bytes:
      break;
  }
  return smcperf::format_rate(value, "B/s");
}

double figure::ratio(double base, double other) const {
  if (base <= 0 || other <= 0) return 0;
  return what == unit::time_ns ? base / other : other / base;
}

std::vector<work> transport_works(std::chrono::nanoseconds slice) {
  return {round_trip(100, slice),
          round_trip(4096, slice),
          {options(test_kind::rate, 100, slice),
           {{"messages of 100 B", operations, figure::unit::operations, 1}}},
          bandwidth(64 << 10, slice),
          bandwidth(1 << 20, slice),
          connections(false, slice),
          connections(true, slice)};
}

std::vector<work> baseline_works(std::chrono::nanoseconds slice) {
  work trip = round_trip(100, slice);
  trip.figures.pop_back();
  return {trip, bandwidth(64 << 10, slice)};
}

}  // namespace demo
