#include "stream/context_service.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <asio/error.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <atomic>
#include <smc/detail/operation.hpp>

#include "system/events.hpp"

namespace smc::detail {

asio::execution_context::id context_service::id;

namespace {

constexpr std::chrono::milliseconds lasting_after{250};

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
  std::unique_ptr<deferred_call> calls;
  if (--depth_ == 0) {
    calls = std::move(deferred_);
    last_deferred_ = nullptr;
  }
  mutex_.unlock();
  while (calls) {
    calls->run();
    calls = std::move(calls->next_);
  }
}

void context_service::defer_prepared(std::unique_ptr<deferred_call> call) noexcept {
  enter();
  deferred_call* const last = call.get();
  (last_deferred_ ? last_deferred_->next_ : deferred_) = std::move(call);
  last_deferred_ = last;
  leave();
}

// ---- descriptors and deadlines

std::error_code context_service::open_control() noexcept {
  if (control_) return {};
  try {
    return make_control();
  } catch (const std::bad_alloc&) {
    const std::lock_guard lock(wake_mutex_);
    control_wait_.reset();
    control_.reset();
    timer_.reset();
    return asio::error::no_memory;
  }
}

std::error_code context_service::make_control() {
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
                                       std::uint32_t epoll_events) noexcept {
  const std::lock_guard lock(mutex_);
  if (const auto error = open_control()) return error;
  try {
    watched_[descriptor] = &watcher;
  } catch (const std::bad_alloc&) {
    return asio::error::no_memory;
  }
  const auto error = system::epoll_change(control_, EPOLL_CTL_ADD, descriptor, epoll_events,
                                          static_cast<std::uint64_t>(descriptor));
  if (error) watched_.erase(descriptor);
  return error;
}

void context_service::unwatch(int descriptor) noexcept {
  const std::lock_guard lock(mutex_);
  if (watched_.erase(descriptor) != 0) {
    (void)system::epoll_change(control_, EPOLL_CTL_DEL, descriptor, 0, 0);
  }
}

std::error_code context_service::prepare_deadlines() noexcept {
  const std::lock_guard lock(mutex_);
  return open_control();
}

std::error_code context_service::watch_deadline(deadline_watcher& watcher,
                                                clock::time_point when) noexcept {
  const std::lock_guard lock(mutex_);
  unwatch_deadline(watcher);
  if (const auto error = open_control()) return error;
  try {
    auto& place = deadline_of_[&watcher];
    place = deadlines_.emplace(when, &watcher);
  } catch (const std::bad_alloc&) {
    deadline_of_.erase(&watcher);
    return asio::error::no_memory;
  }
  // A timer that fires too early only looks again: so deadlines that move out cost no system call.
  if (timer_set_ && *timer_set_ <= when) return {};
  const auto error = set_timer(when);
  if (error) unwatch_deadline(watcher);
  return error;
}

void context_service::unwatch_deadline(deadline_watcher& watcher) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = deadline_of_.find(&watcher);
  if (found == deadline_of_.end()) return;
  deadlines_.erase(found->second);
  deadline_of_.erase(found);
}

void context_service::watch_lasting(lasting_watcher& watcher) noexcept {
  const std::lock_guard lock(mutex_);
  if (watcher.place_) return;
  watcher.next_ = std::exchange(young_, &watcher);
  watcher.place_ = &young_;
  if (watcher.next_) watcher.next_->place_ = &watcher.next_;
  if (young_until_ || open_control()) return;
  young_until_ = clock::now() + lasting_after;
  if (timer_set_ && *timer_set_ <= *young_until_) return;
  if (set_timer(*young_until_)) young_until_.reset();
}

void context_service::unwatch_lasting(lasting_watcher& watcher) noexcept {
  const std::lock_guard lock(mutex_);
  if (!watcher.place_) return;
  *watcher.place_ = watcher.next_;
  if (watcher.next_) watcher.next_->place_ = watcher.place_;
  watcher.next_ = nullptr;
  watcher.place_ = nullptr;
}

void context_service::tell_lasting() noexcept {
  young_until_.reset();
  lasting_watcher* told = std::exchange(young_, nullptr);
  if (told) told->place_ = &told;
  while (told) {
    lasting_watcher& first = *told;
    unwatch_lasting(first);
    if (!first.on_lasting()) watch_lasting(first);
  }
}

std::error_code context_service::set_timer(clock::time_point when) noexcept {
  const auto left = std::max<clock::duration>(when - clock::now(), std::chrono::microseconds(1));
  const auto error = system::set_timer(timer_, left);
  if (!error) timer_set_ = when;
  return error;
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
  if (young_until_ && *young_until_ <= now) tell_lasting();
  if (timer_set_) return;
  std::optional<clock::time_point> next = young_until_;
  if (!deadlines_.empty()) {
    const auto first = deadlines_.begin()->first;
    next = next ? std::min(*next, first) : first;
  }
  if (next) (void)set_timer(*next);
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
  while (young_) unwatch_lasting(*young_);
  young_until_.reset();
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
