// Data sets: immutable descriptions of where elements come from and what happens to them, in the manner of tf.data.
//
//   auto train = iso::data::from_tensor_slices(images, labels).shuffle(10000).batch(32).prefetch();
//   for (const iso::data::Element& batch : train) {                 // one pass; the next loop is the next pass
//     auto [x, y] = batch.tensors<2>();
//   }
//   model.fit(train, {.epochs = 5});
//
// A Dataset is cheap to copy; copies share everything. The first loop over it starts what runs it, which then stays:
// its threads live across passes, and where it runs ahead (prefetch, parallel map), the first elements of the next pass
// are ready when this one ends. Names and semantics are those of tf.data where it has them; docs/data.md tells the
// rest.
//
// Functions: see functions.h. map calls its function in one thread at a time unless num_parallel_calls says otherwise;
// with AUTOTUNE or a number it is called from several at once. When elements have numbers, a function may be called for
// them in any order (a shuffle above it permutes numbers); state belongs into scan().
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isochron/data/functions.h"
#include "isochron/data/source.h"
#include "isochron/data/stage.h"

namespace isochron::data {

// For sizes and numbers of threads: found while running, kept for the next run.
inline constexpr int64_t AUTOTUNE = -1;

struct MapOptions {
  int64_t num_parallel_calls = 1;  // 1: one call at a time
  bool deterministic = true;       // false: results come as they are ready
  std::string name = {};           // for reports: map(name)
};

struct BatchOptions {
  bool drop_remainder = false;
};

struct ShuffleOptions {
  std::optional<uint64_t> seed = {};  // default: from the global seed (set_seed)
  bool reshuffle_each_iteration = true;
};

class Pipeline;
class Dataset;

// A pass over a data set. Moves on only; the pass ends when it is destroyed.
class DatasetIterator {
 public:
  using value_type = Element;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::input_iterator_tag;

  DatasetIterator() = default;
  explicit DatasetIterator(std::shared_ptr<Pipeline> pipeline);
  const Element& operator*() const { return element_; }
  const Element* operator->() const { return &element_; }
  DatasetIterator& operator++();
  void operator++(int) { ++*this; }
  bool operator==(std::default_sentinel_t) const { return !pipeline_; }

 private:
  std::shared_ptr<Pipeline> pipeline_;
  Element element_;
};

class Dataset {
 public:
  explicit Dataset(StagePtr stage);

  template <class F>
  Dataset map(F f, MapOptions options = {}) const {
    return map_elements(element_function(std::move(f)), code_name<F>(), std::move(options));
  }
  // Stacks `size` elements: a new first axis. The last batch is smaller unless it is dropped.
  Dataset batch(int64_t size, BatchOptions options = {}) const;
  // Over elements with numbers a full shuffle whatever the buffer; over streams a buffer of this many elements.
  Dataset shuffle(int64_t buffer_size, ShuffleOptions options = {}) const;
  // Runs what is above it ahead of the consumer, in threads of its own.
  Dataset prefetch(int64_t buffer_size = AUTOTUNE) const;

  // One pass. A second one at the same time gets threads of its own.
  DatasetIterator begin() const;
  std::default_sentinel_t end() const { return {}; }

  // Elements of a pass; kUnknownSize, kInfinite.
  int64_t size() const;
  std::vector<ComponentSpec> specs() const;
  const StagePtr& stage() const;

 private:
  Dataset map_elements(MapFunction f, std::string code, MapOptions options) const;
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

// One element: the tensors themselves.
Dataset from_tensors(std::vector<Component> components, Names names = nullptr);
// One element a row of the first axis, which all share. Copies nothing.
Dataset from_tensor_slices(std::vector<Component> columns, Names names = nullptr);
Dataset from_tensor_slices(std::vector<std::pair<std::string, Component>> columns);
template <class... T>
requires(std::is_convertible_v<T, Component>&&...) Dataset
    from_tensor_slices(const Component& first, const T&... rest) {
  return from_tensor_slices(std::vector<Component>{first, Component(rest)...});
}
Dataset from_elements(std::vector<Element> elements);
// int64 scalars, as Python's range.
Dataset range(int64_t stop);
Dataset range(int64_t start, int64_t stop, int64_t step = 1);

// `make` starts a pass: it returns a callable that returns std::optional of what map functions may return.
using GeneratorPass = std::function<bool(Element&)>;
Dataset from_generator_passes(std::function<GeneratorPass()> make, std::string code, int64_t size);
template <class F>
Dataset from_generator(F make, int64_t size = kUnknownSize) {
  return from_generator_passes(
      [make = std::move(make)]() mutable -> GeneratorPass {
        return [next = make()](Element& out) mutable {
          auto value = next();
          if (!value) return false;
          out = detail::to_element(std::move(*value));
          return true;
        };
      },
      code_name<F>(), size);
}

// Elements by number, as PyTorch's Dataset: derive, and pass a shared pointer wherever a Dataset is wanted.
class MapStyleDataset {
 public:
  virtual ~MapStyleDataset() = default;
  virtual int64_t size() const = 0;
  virtual Element get(int64_t i) const = 0;  // from several threads at once if workers are asked for
};
Dataset from_map_style(std::shared_ptr<const MapStyleDataset> dataset);

Dataset from_source(std::shared_ptr<const IndexedSource> source);
Dataset from_source(std::shared_ptr<const StreamSource> source);

}  // namespace isochron::data
