// Containers of fixed size that keep what matters of a stream without end. They take their memory once and never move
// it. Pages come as they are written, or all at once by prefault(): then memory does not grow while a run goes on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include "isochron/base/prefault.h"

namespace isochron {

// Room for `count` items that are assigned before they are read. Not `new T[count]`: its initial values would touch
// every page of a ring that a short run hardly uses.
template <class T>
class Room {
 public:
  static_assert(std::is_trivially_copyable_v<T>);
  explicit Room(size_t count) : count_(count), items_(static_cast<T*>(::operator new(count * sizeof(T)))) {}
  T& operator[](size_t i) { return items_.get()[i]; }
  const T& operator[](size_t i) const { return items_.get()[i]; }
  void prefault() { isochron::prefault(items_.get(), count_ * sizeof(T)); }

 private:
  struct Free {
    void operator()(T* items) const { ::operator delete(items); }
  };
  size_t count_;
  std::unique_ptr<T, Free> items_;
};

// The first `first` items and the last `last` ones.
template <class T>
class FirstAndLast {
 public:
  FirstAndLast(size_t first, size_t last) : first_(first), last_(last), items_(first + last) {}
  void prefault() { items_.prefault(); }

  void add(const T& item) {
    items_[next_] = item;
    if (++next_ == first_ + last_) next_ = first_;
    ++total_;
  }
  uint64_t total() const { return total_; }
  // In the order they came.
  template <class F>
  void for_each(F&& f) const {
    for (uint64_t i = 0; i < std::min<uint64_t>(total_, first_); ++i) f(items_[i]);
    if (total_ <= first_) return;
    const uint64_t kept = std::min<uint64_t>(total_ - first_, last_);
    for (uint64_t i = total_ - kept; i < total_; ++i) f(items_[first_ + (i - first_) % last_]);
  }

 private:
  size_t first_, last_, next_ = 0;
  uint64_t total_ = 0;
  Room<T> items_;
};

// All items while they fit; then the first few, every second, every fourth, … and the last one.
template <class T>
class Thinned {
 public:
  Thinned(size_t first, size_t capacity) : first_(first), capacity_(capacity), items_(capacity) {}
  void prefault() { items_.prefault(); }

  void add(const T& item) {
    latest_ = item;
    if (total_ < first_ || (total_ - first_) % stride_ == 0) {
      if (size_ == capacity_) thin();
      if (total_ < first_ || (total_ - first_) % stride_ == 0) items_[size_++] = item;
    }
    ++total_;
  }
  uint64_t total() const { return total_; }
  // Everything from here on: one of how many is kept.
  uint64_t stride() const { return stride_; }
  template <class F>
  void for_each(F&& f) const {
    for (size_t i = 0; i < size_; ++i) f(items_[i]);
    const bool last_is_kept = total_ <= first_ || (total_ - 1 - first_) % stride_ == 0;
    if (total_ > 0 && !last_is_kept) f(latest_);
  }

 private:
  void thin() {
    stride_ *= 2;
    size_t to = first_;
    for (size_t from = first_; from < size_; from += 2) items_[to++] = items_[from];
    size_ = to;
  }

  size_t first_, capacity_, size_ = 0;
  uint64_t total_ = 0, stride_ = 1;
  T latest_{};
  Room<T> items_;
};

}  // namespace isochron
