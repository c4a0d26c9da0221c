// The transfers of a subject, in each style.
#include <asio/completion_condition.hpp>
#include <asio/read.hpp>
#include <asio/read_until.hpp>
#include <asio/write.hpp>

#include "conformance/style.hpp"
#include "conformance/subject.hpp"

namespace smc::test {

namespace {

condition or_all(condition until) {
  return until ? std::move(until) : condition(asio::transfer_all());
}

}  // namespace

operation subject::wait(asio::socket_base::wait_type what) {
  return with([&](auto& s) {
    return begin(how_, executor(),
                 [&s, what](auto&& token) { return s.async_wait(what, std::move(token)); });
  });
}

operation subject::read_some(asio::mutable_buffer to) {
  return with([&](auto& s) {
    return begin(how_, executor(),
                 [&s, to](auto&& token) { return s.async_read_some(to, std::move(token)); });
  });
}

operation subject::read_some(mutable_list to) {
  return with([&](auto& s) {
    return begin(how_, executor(),
                 [&s, to](auto&& token) { return s.async_read_some(to, std::move(token)); });
  });
}

operation subject::write_some(asio::const_buffer from) {
  return with([&](auto& s) {
    return begin(how_, executor(),
                 [&s, from](auto&& token) { return s.async_write_some(from, std::move(token)); });
  });
}

operation subject::write_some(const_list from) {
  return with([&](auto& s) {
    return begin(how_, executor(),
                 [&s, from](auto&& token) { return s.async_write_some(from, std::move(token)); });
  });
}

operation subject::read(mutable_list to, condition until) {
  return with([&](auto& s) {
    return begin(how_, executor(), [&s, to, enough = or_all(std::move(until))](auto&& token) {
      return asio::async_read(s, to, enough, std::move(token));
    });
  });
}

operation subject::write(const_list from, condition until) {
  return with([&](auto& s) {
    return begin(how_, executor(), [&s, from, enough = or_all(std::move(until))](auto&& token) {
      return asio::async_write(s, from, enough, std::move(token));
    });
  });
}

operation subject::read_until(std::string& into, std::string delimiter) {
  return with([&](auto& s) {
    return begin(how_, executor(), [&s, &into, delimiter](auto&& token) {
      return asio::async_read_until(s, asio::dynamic_buffer(into), delimiter, std::move(token));
    });
  });
}

operation subject::prepare(std::size_t min) {
  stream& s = own();
  return begin(how_, executor(),
               [&s, min](auto&& token) { return s.async_prepare(min, std::move(token)); });
}

operation subject::data(std::size_t min) {
  stream& s = own();
  return begin(how_, executor(),
               [&s, min](auto&& token) { return s.async_data(min, std::move(token)); });
}

}  // namespace smc::test
