#include "stream/context_service.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

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

std::uint32_t next_number() {
  static std::atomic<std::uint32_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::error_code open(system::descriptor& to, int number) {
  auto opened = system::descriptor::adopt(number);
  if (opened) to = std::move(opened.value);
  return opened.error;
}

}  // namespace

context_service::context_service(asio::execution_context& context)
    : asio::execution_context::service(context), loop_(loop_of(context)), number_(next_number()) {}

context_service& context_service::of(const asio::any_io_executor& executor) {
  auto& context = asio::query(executor, asio::execution::context);
  // Services shut down in reverse order: the reactor must be older than this one, which uses it until then.
  if (!asio::has_service<context_service>(context)) asio::ip::tcp::socket creates_the_reactor(executor);
  return asio::use_service<context_service>(context);
}

asio::any_io_executor context_service::socket_executor(const asio::any_io_executor& executor) const {
  if (loop_) return loop_->context().get_executor();
  return executor;
}

// ---- exclusive sections ------------------------------------------------------------------------------------

void context_service::enter() noexcept {
  mutex_.lock();
  ++depth_;
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

// ---- descriptors and deadlines -----------------------------------------------------------------------------

std::error_code context_service::open_control() {
  if (control_) return {};
  system::descriptor control;
  system::descriptor timer;
  const int set = ::epoll_create1(EPOLL_CLOEXEC);
  if (set < 0) return system::last_error();
  if (const auto error = open(control, set)) return error;
  const int clock_descriptor = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (clock_descriptor < 0) return system::last_error();
  if (const auto error = open(timer, clock_descriptor)) return error;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = timer.get();
  if (::epoll_ctl(control.get(), EPOLL_CTL_ADD, timer.get(), &event) != 0) return system::last_error();
  const std::lock_guard lock(wake_mutex_);
  control_ = std::move(control);
  timer_ = std::move(timer);
  if (loop_) {
    attach(loop_->context().get_executor());
    wait_for_control();
  } else if (waiting_ > 0) {
    attach(*executor_);
    start_waits();
  }
  return {};
}

std::error_code context_service::watch(int descriptor, descriptor_watcher& watcher) {
  const std::lock_guard lock(mutex_);
  if (const auto error = open_control()) return error;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.fd = descriptor;
  if (::epoll_ctl(control_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) return system::last_error();
  watched_[descriptor] = &watcher;
  return {};
}

void context_service::unwatch(int descriptor) noexcept {
  const std::lock_guard lock(mutex_);
  if (watched_.erase(descriptor) != 0) {
    (void)::epoll_ctl(control_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
  }
}

void context_service::watch_deadline(deadline_watcher& watcher, clock::time_point when) {
  const std::lock_guard lock(mutex_);
  unwatch_deadline(watcher);
  deadlines_.emplace(when, &watcher);
  if (open_control()) return;
  // A timer that fires too early only looks again: so deadlines that move out cost no system call.
  if (!timer_set_ || when < *timer_set_) set_timer(when);
}

void context_service::unwatch_deadline(deadline_watcher& watcher) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(deadlines_, [&](const auto& entry) { return entry.second == &watcher; });
}

void context_service::set_timer(clock::time_point when) noexcept {
  const auto left = std::max<clock::duration>(when - clock::now(), std::chrono::microseconds(1));
  const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
  itimerspec spec{};
  spec.it_value.tv_sec = seconds.count();
  spec.it_value.tv_nsec = std::chrono::nanoseconds(left - seconds).count();
  (void)::timerfd_settime(timer_.get(), 0, &spec, nullptr);
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
    const int n = ::epoll_wait(control_.get(), events.data(), static_cast<int>(events.size()), 0);
    if (n <= 0) break;
    for (int i = 0; i < n; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.fd == timer_.get()) {
        std::uint64_t expirations = 0;
        (void)!::read(timer_.get(), &expirations, sizeof expirations);
        timer_set_.reset();
        timer_fired = true;
      } else if (const auto found = watched_.find(event.data.fd); found != watched_.end()) {
        found->second->on_event(event.events);
      }
    }
    if (static_cast<std::size_t>(n) < events.size()) break;  // each was drained
  }
  if (timer_fired) expire();  // after what has arrived in time
}

void context_service::expire() noexcept {
  const auto now = clock::now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    deadline_watcher* due = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    due->on_deadline(now);
  }
  if (!deadlines_.empty() && !timer_set_) set_timer(deadlines_.begin()->first);
}

// ---- waking ------------------------------------------------------------------------------------------------

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
        loop_->add_poller(*this);
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
    loop_->run_exclusive([this, source = std::move(source)] {
      std::erase_if(sources_, [](const auto& s) { return s->finished(); });
      sources_.push_back(source);
    });
    return;
  }
  const std::lock_guard lock(wake_mutex_);
  std::erase_if(sources_, [](const auto& s) { return s->finished(); });
  sources_.push_back(std::move(source));
  // Whoever sleeps already must hear of this one too.
  if (doorbell_pending_ && !sources_.back()->before_sleep()) (void)system::ring(doorbell_);
}

std::vector<std::shared_ptr<wake_source>> context_service::sources() const {
  const std::lock_guard lock(wake_mutex_);
  return sources_;
}

bool context_service::poll() noexcept {
  bool found = false;
  for (std::size_t i = 0; i < sources_.size(); ++i) found |= sources_[i]->poll();
  return found;
}

bool context_service::before_sleep() noexcept {
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
  // On the system executor a handler runs where the reactor found the event, outside any strand of the user.
  doorbell_wait_->async_read_some(
      asio::buffer(&rings_, sizeof rings_),
      asio::bind_executor(asio::system_executor(), [this](std::error_code, std::size_t) {
        if (loop_) {  // the loop polls its sources in the next turn
          loop_->internal_handler();
          loop_->retake_unit();
          wait_for_doorbell();
          return;
        }
        {
          const std::lock_guard lock(wake_mutex_);
          doorbell_pending_ = false;
          ++handling_;
        }
        for (bool found = true; found;) {
          found = false;
          for (const auto& source : sources()) found |= source->poll();
        }
        handled();
      }));
  if (loop_) loop_->release_unit();
}

void context_service::wait_for_control() {
  control_pending_ = true;
  control_wait_->async_wait(asio::posix::stream_descriptor::wait_read,
                            asio::bind_executor(asio::system_executor(), [this](std::error_code error) {
                              if (loop_) {
                                loop_->internal_handler();
                                loop_->retake_unit();
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
  if (waiting_ > 0) {
    start_waits();
  } else {
    stop_waits();
  }
}

void context_service::poll_sources() noexcept {
  exclusively([this] {
    for (const auto& source : sources()) source->poll();
  });
}

void context_service::waiting_changed(int difference, const asio::any_io_executor& executor) noexcept {
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

// ---- the end of the context --------------------------------------------------------------------------------

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
  // Handlers of pending operations are destroyed, not called; what they own may destroy further hosts.
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
  sources_.clear();
  if (doorbell_wait_) (void)doorbell_wait_->release();
  if (control_wait_) (void)control_wait_->release();
  doorbell_wait_.reset();
  control_wait_.reset();
  executor_.reset();
}

}  // namespace smc::detail
