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
#include "isochron/data/report.h"
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

struct PaddedBatchOptions {
  bool drop_remainder = false;
  // By component and axis: the extent to pad to; -1, or a component that is missing: the longest of the batch.
  std::vector<std::vector<int64_t>> padded_shapes = {};
  std::vector<double> padding_values = {};  // by component; missing: 0. Strings are padded with empty ones
};

struct BucketOptions {
  bool drop_remainder = false;
  std::vector<double> padding_values = {};
  std::vector<std::vector<int64_t>> padded_shapes = {};
  // To the bucket's largest length instead of the batch's: axes that are -1 in padded_shapes, by default the first one
  // of every component that has axes. Lengths must then be below the last boundary.
  bool pad_to_bucket_boundary = false;
};

struct WindowOptions {
  int64_t shift = 0;  // 0: the size
  int64_t stride = 1;
  bool drop_remainder = false;
};

struct InterleaveOptions {
  int64_t cycle_length = 4;        // open at a time
  int64_t block_length = 1;        // elements from one before the next
  int64_t num_parallel_calls = 1;  // otherwise every open data set is read ahead by a thread of its own
};

struct SampleOptions {
  std::optional<uint64_t> seed = {};
  bool stop_on_empty_dataset = false;
  bool rerandomize_each_iteration = true;
};

struct RetryOptions {
  int attempts = 3;
  double backoff_seconds = 0.1;  // doubled after each
};

// A part of the elements' components converted: cast({.dtype = DType::float32, .scale = 1 / 255.0}).
struct CastOptions {
  DType dtype = DType::float32;
  size_t component = 0;
  double scale = 1, shift = 0;
};

struct CacheOptions {
  int64_t max_bytes = -1;  // of a memory cache; -1: half of what the process may still take
  std::string tag = {};    // of a disk cache: change it when the code of your functions changes
};

// Where the exception came from that a pipeline threw last in this thread: it arrives as the user's code threw it, and
// this tells the rest.
struct Fault {
  std::string stage, message, file;
  int64_t element = -1;  // its number in the pass, at that stage; -1: unknown
};
const Fault& last_fault();

class Pipeline;
class Dataset;
using Collate = std::function<Element(const std::vector<Element>&)>;
using ScanFunction = std::function<std::pair<Element, Element>(const Element& state, const Element& element)>;
using DatasetFunction = std::function<Dataset(const Element&)>;
using KeyFunction = std::function<int64_t(const Element&)>;
using ReduceFunction = std::function<Dataset(int64_t key, const Dataset& group)>;
// Elements stacked along a new first axis: what batch() does to them.
Element stack(const std::vector<Element>& rows);

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
  // map(x -> x * scale + shift, as dtype) of one component. Known to the planner: it happens while rows are copied into
  // their batch, wherever it stands.
  Dataset cast(CastOptions options = {}) const;
  // Stacks `size` elements: a new first axis. The last batch is smaller unless it is dropped.
  Dataset batch(int64_t size, BatchOptions options = {}) const;
  // Pads shorter ones with zeros (or values) at the end of each axis.
  Dataset padded_batch(int64_t size, PaddedBatchOptions options = {}) const;
  // Padded batches of elements of like length: below boundaries[0], from there to below boundaries[1], …
  template <class F>
  Dataset bucket_by_sequence_length(F length, std::vector<int64_t> boundaries, std::vector<int64_t> batch_sizes,
                                    BucketOptions options = {}) const {
    return bucket_elements(value_function<int64_t>(std::move(length)), code_name<F>(), std::move(boundaries),
                           std::move(batch_sizes), std::move(options));
  }
  // Batches by a function of one's own.
  Dataset collate(int64_t size, Collate collate, BatchOptions options = {}) const;
  Dataset unbatch() const;
  Dataset rebatch(int64_t size, BatchOptions options = {}) const { return unbatch().batch(size, options); }
  // `size` elements, `stride` apart, stacked; the next window `shift` further on. (tf.data's window, each batched.)
  Dataset window(int64_t size, WindowOptions options = {}) const;

  // Over elements with numbers a full shuffle whatever the buffer; over streams a buffer of this many elements, which
  // fills while elements already leave it.
  Dataset shuffle(int64_t buffer_size, ShuffleOptions options = {}) const;
  Dataset repeat(int64_t count = -1) const;  // -1: for ever
  Dataset take(int64_t count) const;         // -1: all
  Dataset skip(int64_t count) const;
  Dataset shard(int64_t num_shards, int64_t index) const;
  Dataset concatenate(const Dataset& other) const;
  // (number, components…).
  Dataset enumerate(int64_t start = 0) const;

  template <class F>
  Dataset filter(F keep) const {
    return filter_elements(value_function<bool>(std::move(keep)), code_name<F>());
  }
  // f(state, element) -> std::pair(new state, result), both anything map functions may return; state and element arrive
  // as Elements.
  template <class S, class F>
  Dataset scan(S initial, F f) const {
    return scan_elements(
        detail::to_element(std::move(initial)),
        [f = std::move(f)](const Element& state, const Element& element) mutable {
          auto [next, result] = f(state, element);
          return std::pair(detail::to_element(std::move(next)), detail::to_element(std::move(result)));
        },
        code_name<F>());
  }
  // f makes a Dataset of each element; their elements one after the other, or in turns.
  template <class F>
  Dataset flat_map(F f) const {
    return flat_map_elements(value_function<Dataset>(std::move(f)), code_name<F>());
  }
  template <class F>
  Dataset interleave(F f, InterleaveOptions options = {}) const {
    return interleave_elements(value_function<Dataset>(std::move(f)), code_name<F>(), options);
  }
  // Up to `window_size` elements with one key become the Dataset that reduce(key, Dataset of them) makes.
  template <class K, class R>
  Dataset group_by_window(K key, R reduce, int64_t window_size) const {
    return group_elements(value_function<int64_t>(std::move(key)), ReduceFunction(std::move(reduce)), window_size,
                          code_name<K>() + code_name<R>());
  }
  template <class F>
  Dataset apply(F f) const {
    return f(*this);
  }

  // Elements are made once and kept: in memory as far as they fit (report() tells the share), or in a file that is
  // published when it is complete, goes on where an interrupted run stopped, and is made anew when sources, stages or
  // the tag changed. A shuffle below a cache is the same in every pass; put it above.
  Dataset cache(CacheOptions options = {}) const;
  Dataset cache(const std::string& path, CacheOptions options = {}) const;
  Dataset snapshot(const std::string& path, CacheOptions options = {}) const { return cache(path, std::move(options)); }
  // One pass into a file; load() makes a data set of it, with numbers.
  void save(const std::string& path) const;

  // Runs what is above it ahead of the consumer, in threads of its own, and on into the next pass.
  Dataset prefetch(int64_t buffer_size = AUTOTUNE) const;
  // Elements that throw are left out, up to `limit` a pass; the next one is thrown.
  Dataset ignore_errors(int64_t limit) const;
  // Errors of files and devices (FileError, std::system_error): tried again after a while.
  Dataset retry(RetryOptions options = {}) const;

  // One pass. A second one at the same time gets threads of its own.
  DatasetIterator begin() const { return begin_pass(false); }
  // The same, made ahead of the consumer whether or not the stages end in prefetch(): what fit() does.
  DatasetIterator begin_ahead() const { return begin_pass(true); }
  std::default_sentinel_t end() const { return {}; }

  // The place of the pass under way, behind the element last given out: exact also in mid-pass, with shuffles, threads
  // and buffers. After restore() the next loop goes on there. StateError for a state of other stages.
  std::string state() const;
  void restore(std::string_view state) const;

  // The stages as they were asked for, and the plan that runs.
  std::string explain() const;
  // The first `count` elements after every stage, with the time each took and its shapes. Runs every stage for itself.
  std::string inspect(int64_t count = 1) const;
  // What its stages and threads did so far, in the pipeline that ran last.
  PipelineReport report() const;

  // Elements of a pass; kUnknownSize, kInfinite.
  int64_t size() const;
  std::vector<ComponentSpec> specs() const;
  const StagePtr& stage() const;

 private:
  DatasetIterator begin_pass(bool ahead) const;
  Dataset map_elements(MapFunction f, std::string code, MapOptions options) const;
  Dataset bucket_elements(KeyFunction length, std::string code, std::vector<int64_t> boundaries,
                          std::vector<int64_t> batch_sizes, BucketOptions options) const;
  Dataset filter_elements(std::function<bool(const Element&)> keep, std::string code) const;
  Dataset scan_elements(Element initial, ScanFunction f, std::string code) const;
  Dataset flat_map_elements(DatasetFunction f, std::string code) const;
  Dataset interleave_elements(DatasetFunction f, std::string code, InterleaveOptions options) const;
  Dataset group_elements(KeyFunction key, ReduceFunction reduce, int64_t window_size, std::string code) const;
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

Dataset load(const std::string& path);

// Elements side by side, until the shortest ends.
Dataset zip(const std::vector<Dataset>& datasets);
// Each element from a data set drawn by weight (equal ones by default), until all are empty.
Dataset sample_from_datasets(const std::vector<Dataset>& datasets, std::vector<double> weights = {},
                             SampleOptions options = {});

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
