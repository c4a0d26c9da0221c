// How a context is woken, sleeps, and is served by blocked callers.
#include <poll.h>

#include <algorithm>
#include <array>
#include <asio/bind_executor.hpp>
#include <asio/buffer.hpp>
#include <asio/error.hpp>
#include <asio/io_context.hpp>
#include <asio/system_executor.hpp>

#include "stream/context_service.hpp"
#include "system/events.hpp"

namespace smc::detail {

namespace {
constexpr int most_poll_rounds = 64;
constexpr std::uint32_t polls_between_clearances = 1024;
thread_local int blocking_calls = 0;
}  // namespace

std::error_code context_service::doorbell(int& descriptor) noexcept {
  const std::lock_guard lock(wake_mutex_);
  if (!doorbell_) {
    auto made = system::create_event();
    if (!made) return made.error;
    doorbell_ = std::move(made.value);
    try {
      if (loop_) {
        loop_->run_exclusive([this] {
          attach(loop_->context().get_executor());
          if (!polled_) loop_->add_poller(*this);
          polled_ = true;
          wait_for_doorbell();
        });
      } else if (waiting_ > 0) {
        attach(*executor_);
        start_waits();
      }
    } catch (const std::bad_alloc&) {
      doorbell_wait_.reset();
      doorbell_.reset();
      return asio::error::no_memory;
    }
  }
  descriptor = doorbell_.get();
  return {};
}

void context_service::add_source(std::shared_ptr<wake_source> source) {
  if (loop_) {
    loop_->run_exclusive([this, source = std::move(source)] { keep_source(source); });
    return;
  }
  const std::lock_guard lock(wake_mutex_);
  keep_source(std::move(source));
  // Whoever sleeps already must hear of this one too.
  if (doorbell_pending_ && !sources_.back()->before_sleep()) (void)system::ring(doorbell_);
}

void context_service::keep_source(std::shared_ptr<wake_source> source) {
  forget_finished_sources();
  sources_.push_back(std::move(source));
}

/// What a dead peer shared with us goes with its source.
void context_service::forget_finished_sources() noexcept {
  if (polling_ == 0) std::erase_if(sources_, [](const auto& s) { return s->finished(); });
}

/// Where any thread may: each source without the lock. One that moves meanwhile may be left out:
/// before_sleep() looks at them all.
bool context_service::poll_each_source() noexcept {
  bool found = false;
  for (std::size_t i = 0;; ++i) {
    std::shared_ptr<wake_source> source;
    {
      const std::lock_guard lock(wake_mutex_);
      if (i >= sources_.size()) return found;
      source = sources_[i];
    }
    found |= source->poll();
  }
}

bool context_service::poll() noexcept {
  check_fork();
  bool found = false;
  ++polling_;
  for (std::size_t i = 0; i < sources_.size(); ++i) found |= sources_[i]->poll();
  --polling_;
  // Else who never sleeps keeps what the dead have shared until the next peer comes.
  if (++polls_ % polls_between_clearances == 0) forget_finished_sources();
  return found;
}

bool context_service::before_sleep() noexcept {
  forget_finished_sources();
  bool quiet = true;
  for (std::size_t i = 0; i < sources_.size(); ++i) quiet &= sources_[i]->before_sleep();
  return quiet;
}

void context_service::after_sleep() noexcept {
  for (std::size_t i = 0; i < sources_.size(); ++i) sources_[i]->after_sleep();
}

void context_service::attach(const asio::any_io_executor& executor) {
  if (doorbell_ && !doorbell_wait_) doorbell_wait_.emplace(executor, doorbell_.get());
  if (control_ && !control_wait_) control_wait_.emplace(executor, control_.get());
}

void context_service::wait_for_doorbell() {
  doorbell_pending_ = true;
  // On the system executor a handler runs where the reactor found the event, outside any strand of
  // the user.
  doorbell_wait_->async_read_some(
      asio::buffer(&rings_, sizeof rings_),
      waiting_in(doorbell_memory_,
                 asio::bind_executor(asio::system_executor(), [this, made = renewals_](
                                                                  std::error_code, std::size_t) {
                   if (loop_) {  // the loop polls its sources in the next turn
                     loop_->internal_handler();
                     loop_->retake_unit();
                   }
                   if (made != renewals_) return;  // the parent's, in its child
                   if (loop_) {
                     wait_for_doorbell();
                     return;
                   }
                   {
                     const std::lock_guard lock(wake_mutex_);
                     doorbell_pending_ = false;
                     ++handling_;
                   }
                   // A peer that never stops must not keep this thread: handled() sees
                   // what is left.
                   bool found = true;
                   for (int rounds = 0; found && rounds < most_poll_rounds; ++rounds) {
                     found = poll_each_source();
                   }
                   handled();
                 })));
  if (loop_) loop_->release_unit();
}

void context_service::wait_for_control() {
  control_pending_ = true;
  control_wait_->async_wait(
      asio::posix::stream_descriptor::wait_read,
      waiting_in(control_memory_,
                 asio::bind_executor(asio::system_executor(),
                                     [this, made = renewals_](std::error_code error) {
                                       if (loop_) {
                                         loop_->internal_handler();
                                         loop_->retake_unit();
                                       }
                                       if (made != renewals_) return;
                                       if (loop_) {
                                         if (!error) poll_descriptors();
                                         wait_for_control();
                                         return;
                                       }
                                       {
                                         const std::lock_guard lock(wake_mutex_);
                                         control_pending_ = false;
                                         ++handling_;
                                       }
                                       if (!error) poll_descriptors();
                                       handled();
                                     })));
  if (loop_) loop_->release_unit();
}

/// A wait's handler is done: waits on as long as somebody waits for something.
void context_service::handled() noexcept {
  const std::lock_guard lock(wake_mutex_);
  if (--handling_ != 0) return;
  forget_finished_sources();
  if (waiting_ > 0) {
    start_waits();
  } else {
    stop_waits();
  }
}

context_service::blocking_call::blocking_call() noexcept { ++blocking_calls; }
context_service::blocking_call::~blocking_call() { --blocking_calls; }
bool context_service::in_blocking_call() noexcept { return blocking_calls != 0; }

void context_service::poll_sources() noexcept {
  exclusively([this] { (void)poll_each_source(); });
}

bool context_service::wait(std::chrono::milliseconds limit, int descriptor) noexcept {
  bool asleep = false;  // there is nothing to do, and peers were told to ring
  if (loop_) {
    const auto announce = [&] {
      const section inside(*this);  // renews what a child of fork() has from its parent
      asleep = before_sleep();
    };
    if (!loop_->try_exclusive(announce)) return false;
  } else {
    exclusively([] {});  // as above
  }
  std::array<pollfd, 3> entries{pollfd{-1, POLLIN, 0}, pollfd{-1, POLLIN, 0},
                                pollfd{descriptor, POLLIN, 0}};
  {
    const std::lock_guard lock(wake_mutex_);  // other threads may be the first to need them
    if (!loop_) asleep = before_sleep();
    entries[0].fd = control_.get();
    entries[1].fd = doorbell_.get();
  }
  (void)system::poll(entries, asleep ? limit : std::chrono::milliseconds(0));
  // Whoever else waits for the doorbell learns from this thread what it rang for.
  if ((entries[1].revents & POLLIN) != 0) (void)system::clear(doorbell_);
  poll_descriptors();
  poll_sources();
  if (loop_) {
    (void)loop_->try_exclusive([this] { after_sleep(); });
    return true;
  }
  const std::lock_guard lock(wake_mutex_);
  if (!doorbell_pending_) {
    after_sleep();
  } else if (!before_sleep()) {
    (void)system::ring(doorbell_);
  }
  return true;
}

void context_service::waiting_changed(int difference, const asio::any_io_executor& executor) {
  if (loop_) return;
  const std::lock_guard lock(wake_mutex_);
  if (handling_ == 0 && difference > 0) {
    if (!executor_) executor_ = executor;
    attach(*executor_);
  }
  waiting_ += difference;
  if (handling_ != 0) return;
  if (waiting_ > 0 && difference > 0) {
    start_waits();
  } else if (waiting_ == 0) {
    stop_waits();
  }
}

void context_service::start_waits() {
  if (control_wait_ && !control_pending_) wait_for_control();
  if (!doorbell_wait_ || doorbell_pending_) return;
  wait_for_doorbell();
  if (!before_sleep()) (void)system::ring(doorbell_);
}

void context_service::stop_waits() noexcept {
  std::error_code ignored;
  if (doorbell_pending_) {
    doorbell_wait_->cancel(ignored);
    after_sleep();
  }
  if (control_pending_) control_wait_->cancel(ignored);
}

/// With wake_mutex_.
void context_service::forget_waits() noexcept {
  sources_.clear();
  if (doorbell_wait_) (void)doorbell_wait_->release();
  if (control_wait_) (void)control_wait_->release();
  doorbell_wait_.reset();
  control_wait_.reset();
}

}  // namespace smc::detail
