#pragma once
// What the loop will call next: an intrusive first-in-first-out list, without allocation.
#include <cstddef>
#include <cstdint>

namespace smc::detail {

/// One entry of the ready queue; intrusive, in at most one queue at a time.
struct ready_node {
  enum class action : unsigned char {
    run,     ///< Do it. The node may be gone or queued again when invoke returns.
    destroy  ///< The loop goes: free what the node owns, call nobody's handler.
  };
  using function = void (*)(ready_node*, action);
  ready_node* next = nullptr;  // belongs to the queue
  function invoke = nullptr;
};

/// Not thread-safe.
class ready_queue {
 public:
  struct entry {
    ready_node* node;
    bool counted;  ///< holds a unit of work and counts in run()'s result
  };

  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }

  void push(ready_node* node, bool counted) noexcept {
    node->next = nullptr;
    ready_node* const link = tagged(node, counted);
    if (size_++ == 0)
      head_ = link;
    else
      tail_->next = link;
    tail_ = node;
  }

  /// The queue must not be empty.
  entry pop() noexcept {
    const auto link = reinterpret_cast<std::uintptr_t>(head_);
    auto* const node = reinterpret_cast<ready_node*>(link & ~std::uintptr_t{1});
    head_ = node->next;
    --size_;
    return {node, (link & 1) != 0};
  }

  /// Moves all entries of `other` behind the own ones.
  void append(ready_queue& other) noexcept {
    if (other.empty()) return;
    if (empty())
      head_ = other.head_;
    else
      tail_->next = other.head_;
    tail_ = other.tail_;
    size_ += other.size_;
    other.size_ = 0;
  }

  /// Takes out, in order, the entries that `invoke` handles.
  ready_queue extract(ready_node::function invoke) noexcept {
    ready_queue found;
    for (std::size_t left = size_; left != 0; --left) {
      const entry e = pop();
      (e.node->invoke == invoke ? found : *this).push(e.node, e.counted);
    }
    return found;
  }

 private:
  // The lowest bit of the pointer *to* a node says whether the node is counted: so a node stays two
  // words, and both kinds keep one order.
  static_assert(alignof(ready_node) > 1);
  static ready_node* tagged(ready_node* node, bool counted) noexcept {
    return reinterpret_cast<ready_node*>(reinterpret_cast<std::uintptr_t>(node) |
                                         std::uintptr_t{counted});
  }

  ready_node* head_ = nullptr;  // tagged; valid while size_ > 0
  ready_node* tail_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace smc::detail
