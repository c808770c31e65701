// Callbacks as an argument of fit(), evaluate() and predict(): made on the spot, or kept to be asked later.
//
//   auto stopping = std::make_shared<EarlyStopping>();
//   model.fit(x, y, {.callbacks = {stopping, CSVLogger("log.csv")}});
//   stopping->stopped_epoch();
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace isochron {

class Callback;  // train/callback.h

class AnyCallback {
 public:
  // One that has a name would be copied, and know nothing of what the copy saw: std::make_shared it.
  template <class C>
  requires(!std::is_lvalue_reference_v<C> && std::is_base_of_v<Callback, std::remove_cv_t<C>>) AnyCallback(C&& callback)
      : callback_(std::make_shared<C>(std::move(callback))) {}
  template <class C>
  AnyCallback(std::shared_ptr<C> callback) : callback_(std::move(callback)) {}
  AnyCallback(std::nullptr_t) {}  // refused where it is used
  const std::shared_ptr<Callback>& get() const { return callback_; }

 private:
  std::shared_ptr<Callback> callback_;
};

class GivenCallbacks : public std::vector<std::shared_ptr<Callback>> {
 public:
  GivenCallbacks() = default;
  GivenCallbacks(std::initializer_list<AnyCallback> callbacks) {
    for (const AnyCallback& callback : callbacks) push_back(callback.get());
  }
  GivenCallbacks(std::vector<std::shared_ptr<Callback>> callbacks) : vector(std::move(callbacks)) {}
};

}  // namespace isochron
