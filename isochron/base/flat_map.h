// A map for the short-lived tables of a trace or a pass: entries stand side by side in the order in which they came,
// found through one table of places, so that a map of a thousand entries asks for memory a dozen times, not a thousand.
//
//   FlatMap<const Node*, int32_t> place;
//   place.try_emplace(node, 3);              // {the value, whether it is new}
//   if (const int32_t* at = place.find(node)) …
//
// Nothing is taken out again. A new entry may move the others: keep no pointer to a value across try_emplace.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace isochron {

template <class Key, class T, class Hash = std::hash<Key>>
class FlatMap {
 public:
  using Entry = std::pair<Key, T>;

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  void reserve(size_t count) {
    entries_.reserve(count);
    if (places_.size() < 2 * count) rehash(2 * count);
  }

  T* find(const Key& key) {
    if (places_.empty()) return nullptr;
    const int32_t at = places_[slot_of(key)];
    return at < 0 ? nullptr : &entries_[static_cast<size_t>(at)].second;
  }
  const T* find(const Key& key) const { return const_cast<FlatMap*>(this)->find(key); }

  template <class... Args>
  std::pair<T*, bool> try_emplace(const Key& key, Args&&... args) {
    if (places_.size() <= 2 * entries_.size()) rehash(4 * entries_.size());
    int32_t& at = places_[slot_of(key)];
    const bool fresh = at < 0;
    if (fresh) {
      entries_.emplace_back(key, T(std::forward<Args>(args)...));
      at = static_cast<int32_t>(entries_.size() - 1);
    }
    return {&entries_[static_cast<size_t>(at)].second, fresh};
  }
  T& operator[](const Key& key) { return *try_emplace(key).first; }

 private:
  // Where the key is, or else would be. A table is never more than half full.
  size_t slot_of(const Key& key) const {
    const size_t mask = places_.size() - 1;
    const uint64_t hash = Hash()(key);
    size_t slot = ((hash ^ hash >> 32) * 0x9E3779B97F4A7C15u >> 32) & mask;
    while (places_[slot] >= 0 && !(entries_[static_cast<size_t>(places_[slot])].first == key)) slot = (slot + 1) & mask;
    return slot;
  }
  void rehash(size_t least) {
    constexpr size_t kLeast = 16;
    places_.assign(std::bit_ceil(least < kLeast ? kLeast : least), -1);
    for (size_t i = 0; i < entries_.size(); ++i) places_[slot_of(entries_[i].first)] = static_cast<int32_t>(i);
  }

  std::vector<Entry> entries_;
  std::vector<int32_t> places_;  // by hash; -1: nobody
};

}  // namespace isochron
