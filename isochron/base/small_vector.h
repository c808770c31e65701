// A vector that keeps its first N elements inside itself, for the short lists every node carries.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace isochron {

template <class T, size_t N>
class SmallVector {
 public:
  SmallVector() = default;
  SmallVector(std::initializer_list<T> items) { append(items.begin(), items.end()); }
  template <class It>
  SmallVector(It first, It last) {
    append(first, last);
  }
  SmallVector(const SmallVector& other) { append(other.begin(), other.end()); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      clear();
      append(other.begin(), other.end());
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  ~SmallVector() { release(); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }
  operator std::span<const T>() const { return {data_, size_}; }

  void push_back(const T& item) { emplace_back(item); }
  void push_back(T&& item) { emplace_back(std::move(item)); }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    if (size_ == capacity_) {
      T made{std::forward<Args>(args)...};  // before the arguments move away, if they are elements
      grow(size_ + 1);
      new (data_ + size_) T(std::move(made));
    } else {
      new (data_ + size_) T{std::forward<Args>(args)...};
    }
    return data_[size_++];
  }
  template <class It>
  void append(It first, It last) {
    for (; first != last; ++first) push_back(*first);
  }
  void pop_back() { data_[--size_].~T(); }
  void clear() {
    std::destroy_n(data_, size_);
    size_ = 0;
  }
  void resize(size_t size, const T& fill = T{}) {
    while (size_ > size) pop_back();
    while (size_ < size) push_back(fill);
  }
  bool operator==(const SmallVector& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

 private:
  T* inline_data() { return reinterpret_cast<T*>(inline_); }
  void grow(size_t least) {
    const size_t capacity = std::max(least, capacity_ * 2);
    T* moved = std::allocator<T>().allocate(capacity);
    std::uninitialized_move_n(data_, size_, moved);
    std::destroy_n(data_, size_);
    if (data_ != inline_data()) std::allocator<T>().deallocate(data_, capacity_);
    data_ = moved;
    capacity_ = capacity;
  }
  void take(SmallVector& other) {
    if (other.data_ == other.inline_data()) {
      std::uninitialized_move_n(other.data_, other.size_, data_);
      std::destroy_n(other.data_, other.size_);
    } else {
      data_ = other.data_;
      capacity_ = other.capacity_;
      other.data_ = other.inline_data();
      other.capacity_ = N;
    }
    size_ = std::exchange(other.size_, 0);
  }
  void release() {
    clear();
    if (data_ != inline_data()) std::allocator<T>().deallocate(data_, capacity_);
    data_ = inline_data();
    capacity_ = N;
  }

  alignas(T) unsigned char inline_[sizeof(T) * (N ? N : 1)];
  T* data_ = inline_data();
  size_t size_ = 0;
  size_t capacity_ = N;
};

}  // namespace isochron
