#include "stream/context_service.hpp"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <asio/bind_executor.hpp>
#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/system_executor.hpp>
#include <atomic>
#include <smc/detail/operation.hpp>

#include "system/events.hpp"

namespace smc::detail {

asio::execution_context::id context_service::id;

namespace {

constexpr int most_poll_rounds = 64;
constexpr std::chrono::milliseconds lasting_after{250};

thread_local int blocking_calls = 0;

std::uint32_t next_number() {
  static std::atomic<std::uint32_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

context_service::context_service(asio::execution_context& context)
    : asio::execution_context::service(context), loop_(loop_of(context)), number_(next_number()) {}

context_service& context_service::of(const asio::any_io_executor& executor) {
  auto& context = asio::query(executor, asio::execution::context);
  // Services shut down in reverse order: the reactor must be older than this one, which uses it
  // until then.
  if (!asio::has_service<context_service>(context))
    asio::ip::tcp::socket creates_the_reactor(executor);
  return asio::use_service<context_service>(context);
}

asio::any_io_executor context_service::socket_executor(
    const asio::any_io_executor& executor) const {
  if (loop_) return loop_->context().get_executor();
  return executor;
}

// ---- exclusive sections

void context_service::enter() noexcept {
  mutex_.lock();
  ++depth_;
  check_fork();
}

void context_service::leave() noexcept {
  std::vector<std::function<void()>> calls;
  if (--depth_ == 0) calls.swap(deferred_);
  mutex_.unlock();
  for (auto& call : calls) call();
}

void context_service::defer(std::function<void()> call) {
  enter();
  deferred_.push_back(std::move(call));
  leave();
}

// ---- descriptors and deadlines

std::error_code context_service::open_control() {
  if (control_) return {};
  auto control = system::create_epoll();
  if (!control) return control.error;
  auto timer = system::create_timer();
  if (!timer) return timer.error;
  const int number = timer.value.get();
  if (const auto error = system::epoll_change(control.value, EPOLL_CTL_ADD, number, EPOLLIN,
                                              static_cast<std::uint64_t>(number))) {
    return error;
  }
  const std::lock_guard lock(wake_mutex_);
  control_ = std::move(control.value);
  timer_ = std::move(timer.value);
  if (loop_) {
    attach(loop_->context().get_executor());
    wait_for_control();
  } else if (waiting_ > 0) {
    attach(*executor_);
    start_waits();
  }
  return {};
}

std::error_code context_service::watch(int descriptor, descriptor_watcher& watcher,
                                       std::uint32_t epoll_events) {
  const std::lock_guard lock(mutex_);
  if (const auto error = open_control()) return error;
  if (const auto error = system::epoll_change(control_, EPOLL_CTL_ADD, descriptor, epoll_events,
                                              static_cast<std::uint64_t>(descriptor))) {
    return error;
  }
  watched_[descriptor] = &watcher;
  return {};
}

void context_service::unwatch(int descriptor) noexcept {
  const std::lock_guard lock(mutex_);
  if (watched_.erase(descriptor) != 0) {
    (void)system::epoll_change(control_, EPOLL_CTL_DEL, descriptor, 0, 0);
  }
}

void context_service::watch_deadline(deadline_watcher& watcher, clock::time_point when) {
  const std::lock_guard lock(mutex_);
  unwatch_deadline(watcher);
  deadline_of_[&watcher] = deadlines_.emplace(when, &watcher);
  if (open_control()) return;
  // A timer that fires too early only looks again: so deadlines that move out cost no system call.
  if (!timer_set_ || when < *timer_set_) set_timer(when);
}

void context_service::unwatch_deadline(deadline_watcher& watcher) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = deadline_of_.find(&watcher);
  if (found == deadline_of_.end()) return;
  deadlines_.erase(found->second);
  deadline_of_.erase(found);
}

void context_service::watch_lasting(lasting_watcher& watcher) {
  const std::lock_guard lock(mutex_);
  if (watcher.place_ != lasting_watcher::nowhere) return;
  young_.push_back(&watcher);
  watcher.place_ = young_.size() - 1;
  if (std::exchange(young_awaited_, true)) return;
  watch_deadline(*this, clock::now() + lasting_after);
}

void context_service::unwatch_lasting(lasting_watcher& watcher) noexcept {
  const std::lock_guard lock(mutex_);
  const std::size_t place = watcher.place_;
  if (place == lasting_watcher::nowhere) return;
  young_[place] = young_.back();
  young_[place]->place_ = place;
  young_.pop_back();
  watcher.place_ = lasting_watcher::nowhere;
}

void context_service::on_deadline(clock::time_point) noexcept {
  young_awaited_ = false;
  while (!young_.empty()) {
    lasting_watcher& last = *young_.back();
    unwatch_lasting(last);
    last.on_lasting();
  }
}

void context_service::set_timer(clock::time_point when) noexcept {
  const auto left = std::max<clock::duration>(when - clock::now(), std::chrono::microseconds(1));
  (void)system::set_timer(timer_, left);
  timer_set_ = when;
}

void context_service::poll_descriptors() noexcept {
  exclusively([this] {
    if (control_) dispatch_events();
  });
}

void context_service::dispatch_events() noexcept {
  std::array<epoll_event, 32> events;
  bool timer_fired = false;
  for (int rounds = 0; rounds < 64; ++rounds) {
    const auto ready = system::epoll_wait(control_, events, std::chrono::milliseconds(0));
    if (!ready || ready.value == 0) break;
    for (std::size_t i = 0; i < ready.value; ++i) {
      const epoll_event& event = events[i];
      const int number = static_cast<int>(event.data.u64);
      if (number == timer_.get()) {
        (void)system::clear(timer_);
        timer_set_.reset();
        timer_fired = true;
      } else if (const auto found = watched_.find(number); found != watched_.end()) {
        found->second->on_event(event.events);
      }
    }
    if (ready.value < events.size()) break;  // each was drained
  }
  if (timer_fired) expire();  // after what has arrived in time
}

void context_service::expire() noexcept {
  const auto now = clock::now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    deadline_watcher* due = deadlines_.begin()->second;
    unwatch_deadline(*due);
    due->on_deadline(now);
  }
  if (!deadlines_.empty() && !timer_set_) set_timer(deadlines_.begin()->first);
}

// ---- waking

std::error_code context_service::doorbell(int& descriptor) {
  const std::lock_guard lock(wake_mutex_);
  if (!doorbell_) {
    auto made = system::create_event();
    if (!made) return made.error;
    doorbell_ = std::move(made.value);
    if (loop_) {
      loop_->run_exclusive([this] {
        attach(loop_->context().get_executor());
        wait_for_doorbell();
        if (!std::exchange(polled_, true)) loop_->add_poller(*this);
      });
    } else if (waiting_ > 0) {
      attach(*executor_);
      start_waits();
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

std::vector<std::shared_ptr<wake_source>> context_service::sources() const {
  const std::lock_guard lock(wake_mutex_);
  return sources_;
}

bool context_service::poll() noexcept {
  check_fork();
  bool found = false;
  ++polling_;
  for (std::size_t i = 0; i < sources_.size(); ++i) found |= sources_[i]->poll();
  --polling_;
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
      asio::bind_executor(asio::system_executor(),
                          [this, made = renewals_](std::error_code, std::size_t) {
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
                              found = false;
                              for (const auto& source : sources()) found |= source->poll();
                            }
                            handled();
                          }));
  if (loop_) loop_->release_unit();
}

void context_service::wait_for_control() {
  control_pending_ = true;
  control_wait_->async_wait(
      asio::posix::stream_descriptor::wait_read,
      asio::bind_executor(asio::system_executor(), [this, made = renewals_](std::error_code error) {
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
      }));
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
  exclusively([this] {
    for (const auto& source : sources()) source->poll();
  });
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

void context_service::waiting_changed(int difference,
                                      const asio::any_io_executor& executor) noexcept {
  if (loop_) return;
  const std::lock_guard lock(wake_mutex_);
  waiting_ += difference;
  if (handling_ != 0) return;
  if (waiting_ > 0 && difference > 0) {
    if (!executor_) executor_ = executor;
    attach(*executor_);
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

// ---- fork

void context_service::notify_fork(asio::execution_context::fork_event event) {
  if (event == asio::execution_context::fork_child) exclusively([] {});
}

void context_service::renew() noexcept {
  generation_ = system::fork_generation();
  ++renewals_;
  watched_.clear();
  deadlines_.clear();
  deadline_of_.clear();
  timer_set_.reset();
  while (!young_.empty()) unwatch_lasting(*young_.back());
  young_awaited_ = false;
  {
    const std::lock_guard lock(wake_mutex_);
    forget_waits();
    doorbell_pending_ = control_pending_ = false;
    doorbell_.reset();
    control_.reset();
    timer_.reset();
  }
  for (fork_watcher* each : fork_watchers_) each->after_fork();
  std::vector<std::shared_ptr<operation_host>> hosts;
  {
    const std::lock_guard lock(hosts_mutex_);
    for (operation_host* each : hosts_) hosts.push_back(each->weak_from_this().lock());
  }
  for (const auto& host : hosts) {
    if (host) host->after_fork();
  }
}

// ---- the end of the context

void context_service::add_host(operation_host& host) {
  const std::lock_guard lock(hosts_mutex_);
  hosts_.push_back(&host);
}

void context_service::remove_host(operation_host& host) noexcept {
  const std::lock_guard lock(hosts_mutex_);
  const auto found = std::find(hosts_.begin(), hosts_.end(), &host);
  if (found == hosts_.end()) return;
  *found = hosts_.back();
  hosts_.pop_back();
}

void context_service::shutdown() {
  // Handlers of pending operations are destroyed, not called; what they own may destroy further
  // hosts.
  for (;;) {
    std::shared_ptr<operation_host> host;
    {
      const std::lock_guard lock(hosts_mutex_);
      if (hosts_.empty()) break;
      host = hosts_.back()->weak_from_this().lock();
      hosts_.pop_back();
    }
    if (host) host->context_gone();
  }
  const std::lock_guard lock(wake_mutex_);
  forget_waits();
  executor_.reset();
}

}  // namespace smc::detail
