#include "system/descriptor.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "system/fork.hpp"
#include "system/injection.hpp"

namespace smc::system {

namespace {

// One bit for each possible number; never-touched pages of it cost nothing.
constinit std::array<std::atomic<std::uint64_t>, descriptor::number_limit / 64> registered{};

std::atomic<std::uint64_t>& word_of(int number) noexcept {
  return registered[static_cast<std::size_t>(number) / 64];
}
std::uint64_t bit_of(int number) noexcept { return std::uint64_t{1} << (number % 64); }

// False where the bit was not set: then the number is not ours any more.
bool forget(int number) noexcept {
  return (word_of(number).fetch_and(~bit_of(number), std::memory_order_acq_rel) & bit_of(number)) !=
         0;
}

template <typename F>
void for_each_registered(F&& f) noexcept {
  for (std::size_t i = 0; i < registered.size(); ++i) {
    for (auto bits = registered[i].load(std::memory_order_acquire); bits != 0; bits &= bits - 1) {
      f(static_cast<int>(i * 64) + std::countr_zero(bits));
    }
  }
}

// Not /dev/null: a reactor that goes on in the child watches its descriptors again, and epoll
// refuses files.
int open_placeholder() noexcept { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

}  // namespace

result<descriptor> descriptor::adopt(int number) noexcept {
  if (number < 0) return error_of(EBADF);
  if (number >= number_limit) {
    ::close(number);
    return error_of(EMFILE);
  }
  watch_forks();
  word_of(number).fetch_or(bit_of(number), std::memory_order_acq_rel);
  return descriptor(number);
}

void descriptor::reset() noexcept {
  if (number_ < 0) return;
  // Forgotten before it is closed: a number that another thread opens in between must not carry the
  // mark.
  const int number = std::exchange(number_, -1);
  if (forget(number)) ::close(number);
}

int descriptor::release() noexcept {
  if (number_ >= 0) static_cast<void>(forget(number_));
  return std::exchange(number_, -1);
}

result<descriptor> descriptor::duplicate() const noexcept {
  if (const int e = injected(call::duplicate)) return error_of(e);
  const int number = ::fcntl(number_, F_DUPFD_CLOEXEC, 0);
  if (number < 0) return last_error();
  return adopt(number);
}

std::size_t registered_descriptors() noexcept {
  std::size_t n = 0;
  for_each_registered([&](int) { ++n; });
  return n;
}

void detail::neutralise_registered_descriptors() noexcept {
  int placeholder = open_placeholder();
  for_each_registered([&](int number) {
    if (placeholder < 0) {
      // No free number at all: the first of ours makes room for the placeholder of the others.
      ::close(number);
      placeholder = open_placeholder();
      if (placeholder == number) {
        // It stays where it is; the others are copies of it.
        return;
      }
      if (placeholder < 0) {
        static_cast<void>(forget(number));
        return;
      }
    }
    if (::dup3(placeholder, number, O_CLOEXEC) < 0) {
      ::close(number);
      static_cast<void>(forget(number));
    }
  });
  if (placeholder < 0) return;
  const bool is_ours =
      placeholder < descriptor::number_limit &&
      (word_of(placeholder).load(std::memory_order_relaxed) & bit_of(placeholder)) != 0;
  if (!is_ours) ::close(placeholder);
}

}  // namespace smc::system
