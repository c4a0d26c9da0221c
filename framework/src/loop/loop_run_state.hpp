#pragma once
#include <smc/detail/loop_core.hpp>

namespace smc::detail {

/// One call of run().
struct loop_core::run_state {
  const std::size_t most;
  const bool block;
  const deadline& until;
  std::size_t done = 0;
  bool over = false;  // the time is over, or somebody stopped the inner context
  unsigned turns_without_work = 0;
  clock::time_point idle_since{};  // when the last spin began

  bool ended() const noexcept { return over || done >= most; }
};

/// The inner context is called.
class loop_core::inner_scope {
 public:
  explicit inner_scope(loop_core& core) noexcept
      : core_(core),
        in_inner_(std::exchange(core.in_inner_, true)),
        uncounted_(std::exchange(core.uncounted_, false)) {}
  inner_scope(const inner_scope&) = delete;
  inner_scope& operator=(const inner_scope&) = delete;
  ~inner_scope() {
    core_.in_inner_ = in_inner_;
    core_.uncounted_ = uncounted_;
  }

 private:
  loop_core& core_;
  bool in_inner_;
  bool uncounted_;
};

/// True if a handler of the inner context ran.
template <typename Call>
bool loop_core::run_inner(run_state& state, Call call) {
  const inner_scope scope(*this);
  if (call() == 0) return false;
  if (!uncounted_) ++state.done;
  rethrow_kept();
  return true;
}

}  // namespace smc::detail
