#pragma once
#include <utility>

namespace smc::detail {

/// What starts an operation of `Object`: `Function`, given the object, the handler and the
/// initiation's arguments. With the executor that handlers run on by default: token adapters
/// (with_deadline) ask for it, as they can of Asio's own.
template <typename Object, typename Function>
class initiation {
 public:
  using executor_type = typename Object::executor_type;

  initiation(Object& object, Function function)
      : object_(&object), function_(std::move(function)) {}
  const executor_type& get_executor() const noexcept { return object_->get_executor(); }

  template <typename Handler, typename... Args>
  void operator()(Handler&& handler, Args&&... args) const {
    function_(*object_, std::forward<Handler>(handler), std::forward<Args>(args)...);
  }

 private:
  Object* object_;
  Function function_;
};

template <typename Object, typename Function>
initiation<Object, Function> initiation_of(Object& object, Function function) {
  return {object, std::move(function)};
}

}  // namespace smc::detail
