#include "smcperf/session.hpp"

#include <asio/read.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

namespace smcperf {
namespace {

std::string describe(transport_choice asked, const std::string& had, std::error_code reason) {
  std::string text = "asked for " + std::string(to_string(asked)) + ", had " + had;
  if (reason) text += ": " + reason.message();
  return text;
}

std::string remedy_for(std::error_code reason) {
  if (!reason || reason.category() != smc::make_error_code(smc::reason::none).category()) return {};
  return std::string(smc::remedy(static_cast<smc::reason>(reason.value())));
}

}  // namespace

transport_not_had::transport_not_had(transport_choice asked, std::string had,
                                     std::error_code reason)
    : std::runtime_error(describe(asked, had, reason)),
      had_(std::move(had)),
      reason_(reason),
      remedy_(remedy_for(reason)) {}

void transport_tally::count(transport_choice asked, std::string_view had, std::error_code reason) {
  ++connections_;
  ++transports_[std::string(had)];
  if (reason) ++fallbacks_[reason.message()];
  if (asked != transport_choice::automatic && had != to_string(asked))
    throw transport_not_had(asked, std::string(had), reason);
}

void transport_tally::merge(const transport_tally& other) {
  connections_ += other.connections_;
  for (const auto& [name, n] : other.transports_) transports_[name] += n;
  for (const auto& [name, n] : other.fallbacks_) fallbacks_[name] += n;
}

std::string transport_tally::name() const {
  if (transports_.empty()) return "none";
  return transports_.size() == 1 ? transports_.begin()->first : "mixed";
}

template <typename Sockets>
asio::awaitable<typename Sockets::stream> open_session(asio::any_io_executor executor,
                                                       const session_options& options, job what,
                                                       transport_tally& tally) {
  auto stream = Sockets::make_stream(executor, options.config);
  co_await stream.async_connect(options.server, asio::use_awaitable);
  stream.set_option(asio::ip::tcp::no_delay(true));
  tally.count(options.asked, transport_of(stream), fallback_of(stream));
  const wire_message request = encode(what);
  co_await asio::async_write(stream, asio::buffer(request), asio::use_awaitable);
  wire_message answer;
  co_await asio::async_read(stream, asio::buffer(answer), asio::use_awaitable);
  const welcome theirs = decode_welcome(answer);
  if (theirs.transport != transport_of(stream))
    throw std::runtime_error("this side says " + std::string(transport_of(stream)) +
                             ", the server says " + theirs.transport);
  co_return stream;
}

template asio::awaitable<smc_sockets::stream> open_session<smc_sockets>(asio::any_io_executor,
                                                                        const session_options&, job,
                                                                        transport_tally&);
template asio::awaitable<bare_sockets::stream> open_session<bare_sockets>(asio::any_io_executor,
                                                                          const session_options&,
                                                                          job, transport_tally&);

}  // namespace smcperf
