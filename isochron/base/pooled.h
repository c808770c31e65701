// Objects that come and go in every step: `struct Node : Pooled<Node>` recycles its memory through a
// per-thread free list, so a steady step asks the system allocator for nothing.
#pragma once

#include <cstddef>
#include <new>

namespace isochron {

template <class T>
class Pooled {
 public:
  static void* operator new(size_t size) {
    List& list = free_list();
    if (size != sizeof(T) || !list.head) return ::operator new(size);
    Link* link = list.head;
    list.head = link->next;
    --list.count;
    return link;
  }
  static void operator delete(void* memory, size_t size) {
    List& list = free_list();
    if (size != sizeof(T) || list.closed || list.count >= kKept) return ::operator delete(memory);
    list.head = new (memory) Link{list.head};
    ++list.count;
  }

 private:
  static constexpr size_t kKept = 4096;
  struct Link {
    Link* next;
  };
  struct List {
    Link* head = nullptr;
    size_t count = 0;
    bool closed = false;
    ~List() {
      closed = true;
      while (head) {
        Link* next = head->next;
        ::operator delete(head);
        head = next;
      }
    }
  };
  static List& free_list() {
    thread_local List list;
    return list;
  }
};

// The same for std::allocate_shared, whose control block and object are one allocation of their own type.
template <class T>
struct PoolAllocator {
  using value_type = T;
  PoolAllocator() = default;
  template <class U>
  PoolAllocator(const PoolAllocator<U>&) {}
  T* allocate(size_t count) {
    return static_cast<T*>(count == 1 ? Pooled<T>::operator new(sizeof(T)) : ::operator new(count * sizeof(T)));
  }
  void deallocate(T* memory, size_t count) {
    count == 1 ? Pooled<T>::operator delete(memory, sizeof(T)) : ::operator delete(memory);
  }
  bool operator==(const PoolAllocator&) const { return true; }
};

}  // namespace isochron
