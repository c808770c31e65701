// NotCopied: a member that belongs to one object alone. Copies of the object start with none, and keep their own when
// they are assigned to.
//
//   class Node { NotCopied<std::weak_ptr<Node>> origin_; };   // used as the weak_ptr it is
#pragma once

namespace isochron {

template <class T>
class NotCopied : public T {
 public:
  using T::operator=;
  NotCopied() = default;
  NotCopied(const NotCopied&) : T() {}
  NotCopied& operator=(const NotCopied&) { return *this; }
};

}  // namespace isochron
