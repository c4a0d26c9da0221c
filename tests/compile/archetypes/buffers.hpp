#pragma once
// Buffer sequences of a program's own.
#include <asio/buffer.hpp>
#include <cstddef>
#include <iterator>

namespace smc::test {

/// Two buffers of which iterators tell nothing but what converts to them. Copied, and nothing else.
template <typename Buffer>
class two_buffers {
 public:
  class value_type {
   public:
    operator Buffer() const { return *buffer_; }

   private:
    friend class two_buffers;
    explicit value_type(const Buffer* buffer) : buffer_(buffer) {}
    const Buffer* buffer_;
  };
  class const_iterator {
   public:
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = two_buffers::value_type;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = value_type;

    const_iterator() = default;
    value_type operator*() const { return two_buffers::at(buffer_); }
    const_iterator& operator++() { return ++buffer_, *this; }
    const_iterator operator++(int) { return const_iterator(buffer_++); }
    const_iterator& operator--() { return --buffer_, *this; }
    const_iterator operator--(int) { return const_iterator(buffer_--); }
    friend bool operator==(const const_iterator& a, const const_iterator& b) {
      return a.buffer_ == b.buffer_;
    }
    friend bool operator!=(const const_iterator& a, const const_iterator& b) { return !(a == b); }

   private:
    friend class two_buffers;
    explicit const_iterator(const Buffer* buffer) : buffer_(buffer) {}
    const Buffer* buffer_ = nullptr;
  };

  two_buffers(const Buffer& first, const Buffer& second) : buffers_{first, second} {}
  two_buffers(const two_buffers&) = default;
  two_buffers& operator=(const two_buffers&) = delete;
  void operator&() const = delete;

  const_iterator begin() const { return const_iterator(buffers_); }
  const_iterator end() const { return const_iterator(buffers_ + 2); }

 private:
  static value_type at(const Buffer* buffer) { return value_type(buffer); }
  const Buffer buffers_[2];
};

/// One buffer that knows more than where it is.
struct named_buffer : asio::mutable_buffer {
  named_buffer(void* data, std::size_t size, const char* n)
      : asio::mutable_buffer(data, size), name(n) {}
  const char* name;
};

}  // namespace smc::test
