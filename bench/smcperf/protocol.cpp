#include "smcperf/protocol.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>

namespace smcperf {
namespace {

constexpr std::uint64_t version = 1;
constexpr std::uint64_t largest_message = std::uint64_t{1} << 30;
constexpr std::size_t name_length = 16;

// Each message begins with its own eight letters, so that a stray peer is noticed at once.
constexpr std::string_view job_magic = "smcpJOB ", welcome_magic = "smcpWELC",
                           receipt_magic = "smcpRCPT", report_magic = "smcpREPT";

class writer {
 public:
  explicit writer(std::string_view magic) {
    std::copy(magic.begin(), magic.end(), message_.begin());
    at_ = magic.size();
    put(version);
  }
  void put(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8)
      message_.at(at_++) = static_cast<unsigned char>(value >> shift);
  }
  void put(std::string_view name) {
    for (std::size_t i = 0; i < name_length; ++i)
      message_.at(at_++) = i < name.size() ? static_cast<unsigned char>(name[i]) : 0;
  }
  const wire_message& message() const { return message_; }

 private:
  wire_message message_{};
  std::size_t at_ = 0;
};

class reader {
 public:
  reader(const wire_message& message, std::string_view magic) : message_(message) {
    if (!std::equal(magic.begin(), magic.end(), message.begin()))
      throw std::runtime_error("the other side does not speak the smcperf protocol");
    at_ = magic.size();
    if (const auto theirs = number(); theirs != version)
      throw std::runtime_error("the other side speaks version " + std::to_string(theirs) +
                               " of the smcperf protocol, this program version " +
                               std::to_string(version));
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 8) value |= std::uint64_t{message_.at(at_++)} << shift;
    return value;
  }
  std::string name() {
    std::string text;
    for (std::size_t i = 0; i < name_length; ++i)
      if (const auto c = message_.at(at_ + i); c != 0) text += static_cast<char>(c);
    at_ += name_length;
    return text;
  }

 private:
  const wire_message& message_;
  std::size_t at_ = 0;
};

}  // namespace

wire_message encode(const job& j) {
  writer w(job_magic);
  w.put(static_cast<std::uint64_t>(j.kind));
  w.put(static_cast<std::uint64_t>(j.mode));
  w.put(j.size);
  return w.message();
}

wire_message encode(const welcome& w) {
  writer out(welcome_magic);
  out.put(w.pid);
  out.put(std::string_view(w.transport));
  return out.message();
}

wire_message encode(const receipt& r) {
  writer w(receipt_magic);
  w.put(r.bytes);
  return w.message();
}

wire_message encode(const server_report& r) {
  writer w(report_magic);
  w.put(r.cpu.user_ns);
  w.put(r.cpu.system_ns);
  w.put(r.accepted);
  w.put(r.open);
  w.put(r.received);
  return w.message();
}

job decode_job(const wire_message& message) {
  reader r(message, job_magic);
  const auto kind = r.number();
  const auto mode = r.number();
  const auto size = r.number();
  if (kind > static_cast<std::uint64_t>(job_kind::request) ||
      mode > static_cast<std::uint64_t>(message_mode::zero_copy) || size > largest_message ||
      (size == 0) != (kind == static_cast<std::uint64_t>(job_kind::control)))
    throw std::runtime_error("the client asks for a job that does not exist");
  return {static_cast<job_kind>(kind), static_cast<message_mode>(mode), size};
}

welcome decode_welcome(const wire_message& message) {
  reader r(message, welcome_magic);
  welcome w;
  w.pid = r.number();
  w.transport = r.name();
  return w;
}

receipt decode_receipt(const wire_message& message) {
  return {reader(message, receipt_magic).number()};
}

server_report decode_report(const wire_message& message) {
  reader r(message, report_magic);
  server_report report;
  report.cpu.user_ns = r.number();
  report.cpu.system_ns = r.number();
  report.accepted = r.number();
  report.open = r.number();
  report.received = r.number();
  return report;
}

}  // namespace smcperf
