// Elements put together by a function of several: padded batches, one's own collation, windows, buckets.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>

#include "isochron/base/counts.h"
#include "isochron/data/batch.h"
#include "isochron/data/run.h"
#include "isochron/data/stages.h"

namespace isochron::data {
namespace {

// Which elements make up one result: `size` of them, `stride` apart, the next result `shift` further on.
struct Grouping {
  int64_t size = 1, shift = 1, stride = 1;
  bool drop_remainder = false;
  int64_t span() const { return counted_sum(counted_product(size - 1, stride), 1); }
  int64_t count(int64_t elements) const {
    if (elements < 0) return elements;
    if (!drop_remainder) return parts_of(elements, shift);
    return elements < span() ? 0 : (elements - span()) / shift + 1;
  }
};

class GroupIndexed : public Indexed {
 public:
  GroupIndexed(std::unique_ptr<Indexed> below, Grouping grouping, Collate collate, StageId id)
      : below_(std::move(below)), grouping_(grouping), collate_(std::move(collate)), id_(id) {}
  int64_t size() const override { return grouping_.count(below_->size()); }
  void get(int64_t index, uint64_t epoch, Worker& worker, Element& out) override {
    Assembly assembly;
    prepare(index, epoch, assembly);
    make(index, epoch, 0, parts(index, epoch), worker, assembly);
    complete(index, epoch, worker, assembly, out);
  }
  int64_t parts(int64_t index, uint64_t) override {
    const int64_t left = below_->size() - index * grouping_.shift;
    return below_->size() < 0 ? grouping_.size : std::min(grouping_.size, (left - 1) / grouping_.stride + 1);
  }
  void prepare(int64_t index, uint64_t epoch, Assembly& assembly) override {
    assembly.rows.resize(static_cast<size_t>(parts(index, epoch)));
  }
  void make(int64_t index, uint64_t epoch, int64_t first, int64_t last, Worker& worker, Assembly& assembly) override {
    for (int64_t k = first; k < last; ++k)
      below_->get(index * grouping_.shift + k * grouping_.stride, epoch, worker, assembly.rows[static_cast<size_t>(k)]);
  }
  void complete(int64_t index, uint64_t epoch, Worker& worker, Assembly& assembly, Element& out) override {
    UserCode code(worker, id_, index, epoch);
    out = collate_(assembly.rows);
    code.made(out);
    assembly.rows.clear();
  }

 private:
  std::unique_ptr<Indexed> below_;
  const Grouping grouping_;
  const Collate collate_;
  const StageId id_;
};

class GroupStream : public Stream {
 public:
  GroupStream(std::unique_ptr<Stream> below, Grouping grouping, Collate collate, StageId id)
      : below_(std::move(below)), grouping_(grouping), collate_(std::move(collate)), id_(id) {}
  void begin(uint64_t epoch) override {
    epoch_ = epoch;
    below_->begin(epoch);
    buffer_.clear();
    to_skip_ = made_ = 0;
    ended_ = false;
  }
  bool next(Worker& worker, Element& out) override {
    while (!ended_ && (to_skip_ > 0 || static_cast<int64_t>(buffer_.size()) < grouping_.span())) {
      Element element;
      if (!below_->next(worker, element)) {
        ended_ = true;
      } else if (to_skip_ > 0) {
        --to_skip_;
      } else {
        buffer_.push_back(std::move(element));
      }
    }
    const auto have = static_cast<int64_t>(buffer_.size());
    if (have == 0 || (grouping_.drop_remainder && have < grouping_.span())) return false;
    std::vector<Element> rows;
    for (int64_t k = 0; k < grouping_.size && k * grouping_.stride < have; ++k)
      rows.push_back(buffer_[static_cast<size_t>(k * grouping_.stride)]);
    const int64_t leave = std::min(have, grouping_.shift);
    buffer_.erase(buffer_.begin(), buffer_.begin() + leave);
    to_skip_ = grouping_.shift - leave;
    UserCode code(worker, id_, made_++, epoch_);
    out = collate_(rows);
    code.made(out);
    return true;
  }
  void save(StateWriter& state) override {
    state.put(epoch_);
    state.put(to_skip_);
    state.put(made_);
    state.put(ended_);
    state.put_all(buffer_);
    below_->save(state);
  }
  void restore(StateReader& state) override {
    epoch_ = state.get<uint64_t>();
    to_skip_ = state.get_count(grouping_.shift);
    made_ = state.get_count();
    ended_ = state.get<bool>();
    state.get_all(buffer_, grouping_.span());
    below_->restore(state);
  }

 private:
  std::unique_ptr<Stream> below_;
  const Grouping grouping_;
  const Collate collate_;
  const StageId id_;
  uint64_t epoch_ = 0;
  std::deque<Element> buffer_;
  int64_t to_skip_ = 0, made_ = 0;
  bool ended_ = false;
};

class GroupStage : public StageOf<GroupStage> {
 public:
  // `code` tells apart collations of one name.
  GroupStage(StagePtr input, std::string name, std::string code, Grouping grouping, Collate collate, bool user_code)
      : StageOf({std::move(input)}),
        name_(std::move(name)),
        code_(std::move(code)),
        grouping_(grouping),
        collate_(std::move(collate)),
        user_code_(user_code) {}
  std::string describe() const override { return name_; }
  std::string fingerprint() const override { return fmt::format("{}:{}:{}", name_, grouping_.drop_remainder, code_); }
  int64_t size() const override { return grouping_.count(inputs()[0]->size()); }
  std::vector<ComponentSpec> specs() const override { return {}; }
  Names names() const override { return user_code_ ? nullptr : StageOf::names(); }
  bool has_user_code() const override { return user_code_; }
  bool is_indexed() const override { return inputs_indexed(); }
  std::unique_ptr<Indexed> indexed(Run& run) const override {
    auto below = run.indexed(inputs()[0]);
    return std::make_unique<GroupIndexed>(std::move(below), grouping_, collate_, run.add(*this));
  }
  std::unique_ptr<Stream> stream(Run& run) const override {
    auto below = run.stream(inputs()[0]);
    return std::make_unique<GroupStream>(std::move(below), grouping_, collate_, run.add(*this));
  }

 private:
  const std::string name_, code_;
  const Grouping grouping_;
  const Collate collate_;
  const bool user_code_;
};

// Where an array lies in the corner of a larger one: copy(from, to, count) for each run of elements that stay together.
template <class Copy>
void copy_corner(const Shape& shape, const Shape& room, const Copy& copy, int axis = 0, int64_t from = 0,
                 int64_t to = 0) {
  const int rank = shape.rank();
  const int64_t count = shape.elements(axis, rank);
  if (count == 0) return;
  if (axis == rank || std::equal(shape.begin() + axis + 1, shape.end(), room.begin() + axis + 1))
    return copy(from, to, count);
  const int64_t from_row = shape.elements(axis + 1, rank), to_row = room.elements(axis + 1, rank);
  for (int64_t i = 0; i < shape[axis]; ++i)
    copy_corner(shape, room, copy, axis + 1, from + i * from_row, to + i * to_row);
}

Component padded_column(const std::vector<Element>& rows, size_t c, const PaddedBatchOptions& options) {
  const Component& first = rows[0][c];
  std::vector<int64_t> dims = first.shape().to_vector();
  for (const Element& row : rows) {
    if (row[c].shape().rank() != first.shape().rank() || row[c].dtype() != first.dtype() ||
        row[c].is_text() != first.is_text())
      fail<ShapeError>("padded_batch", "component {} must have one rank and dtype, got {} and {}", c,
                       to_string(first.component_spec()), to_string(row[c].component_spec()));
    for (size_t axis = 0; axis < dims.size(); ++axis)
      dims[axis] = std::max(dims[axis], row[c].shape()[static_cast<int>(axis)]);
  }
  if (c < options.padded_shapes.size()) {
    if (options.padded_shapes[c].size() != dims.size())
      fail<ShapeError>("padded_batch", "padded_shapes has {} axes for component {}, which is {}; -1 means the longest",
                       options.padded_shapes[c].size(), c, to_string(first.component_spec()));
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      const int64_t wanted = options.padded_shapes[c][axis];
      if (wanted < 0) continue;
      if (dims[axis] > wanted)
        fail<ShapeError>("padded_batch", "component {} has extent {} along axis {}, more than padded_shapes allows: {}",
                         c, dims[axis], axis, wanted);
      dims[axis] = wanted;
    }
  }
  const Shape room(dims), shape = room.insert(0, static_cast<int64_t>(rows.size()));
  const auto copy_rows = [&](auto&& copy) {  // copy(row, where in it, where in the batch, count)
    for (size_t i = 0; i < rows.size(); ++i)
      copy_corner(rows[i][c].shape(), room, [&](int64_t from, int64_t to, int64_t count) {
        copy(rows[i][c], from, static_cast<int64_t>(i) * room.elements() + to, count);
      });
  };
  if (first.is_text()) {
    Strings texts(static_cast<size_t>(shape.elements()));
    copy_rows([&](const Component& row, int64_t from, int64_t to, int64_t count) {
      std::copy_n(row.texts().begin() + from, count, texts.begin() + to);
    });
    return Component(std::move(texts), shape);
  }
  const TensorSpec spec{first.dtype(), shape};
  Storage bytes = Storage::allocate(static_cast<size_t>(spec.bytes()));
  const double value = c < options.padding_values.size() ? options.padding_values[c] : 0;
  const auto item = static_cast<int64_t>(size_of(spec.dtype));
  if (value == 0) {
    std::memset(bytes.data(), 0, static_cast<size_t>(spec.bytes()));
  } else {
    visit_dtype(spec.dtype, [&]<class T>(Type<T>) {
      T fill;
      if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>) {
        fill = T(static_cast<float>(value));
      } else {
        const double above = std::ldexp(1, std::numeric_limits<T>::digits);
        if (std::is_integral_v<T> && !(value >= static_cast<double>(std::numeric_limits<T>::min()) && value < above))
          fail<ValueError>("padded_batch", "{} can't pad component {}, which is {}", value, c,
                           to_string(first.component_spec()));
        fill = static_cast<T>(value);
      }
      std::fill_n(reinterpret_cast<T*>(bytes.data()), shape.elements(), fill);
    });
  }
  copy_rows([&](const Component& row, int64_t from, int64_t to, int64_t count) {
    std::memcpy(bytes.data() + to * item, row.data() + from * item, static_cast<size_t>(count * item));
  });
  const std::byte* data = bytes.data();
  return Component(spec, data, std::move(bytes));
}

Collate padding(PaddedBatchOptions options) {
  return [options = std::move(options)](const std::vector<Element>& rows) {
    for (const Element& row : rows)
      if (row.size() != rows[0].size())
        fail<ShapeError>("padded_batch", "all elements need the same components, got {} and {}", describe(rows[0]),
                         describe(row));
    Element out;
    out.set_names(rows[0].names());
    for (size_t c = 0; c < rows[0].size(); ++c) out.add(padded_column(rows, c, options));
    return out;
  };
}

// Elements wait in the bucket of their length until it is full.
class BucketStream : public Stream {
 public:
  BucketStream(std::unique_ptr<Stream> below, KeyFunction length, std::vector<int64_t> boundaries,
               std::vector<int64_t> sizes, BucketOptions options, StageId id)
      : below_(std::move(below)),
        length_(std::move(length)),
        boundaries_(std::move(boundaries)),
        sizes_(std::move(sizes)),
        options_(std::move(options)),
        id_(id) {}
  void begin(uint64_t epoch) override {
    epoch_ = epoch;
    below_->begin(epoch);
    buckets_.clear();
    ended_ = false;
    seen_ = 0;
  }
  bool next(Worker& worker, Element& out) override {
    while (!ended_) {
      Element element;
      if (!below_->next(worker, element)) {
        ended_ = true;
        break;
      }
      size_t bucket;
      {
        UserCode code(worker, id_, seen_++, epoch_);
        const auto above = std::upper_bound(boundaries_.begin(), boundaries_.end(), length_(element));
        bucket = static_cast<size_t>(above - boundaries_.begin());
      }
      std::vector<Element>& rows = buckets_[bucket];
      rows.push_back(std::move(element));
      if (static_cast<int64_t>(rows.size()) == sizes_[bucket]) return give(bucket, out);
    }
    while (!buckets_.empty()) {
      if (!options_.drop_remainder) return give(buckets_.begin()->first, out);
      buckets_.clear();
    }
    return false;
  }
  void save(StateWriter& state) override {
    state.put(epoch_);
    state.put(ended_);
    state.put(seen_);
    state.put(static_cast<uint64_t>(buckets_.size()));
    for (const auto& [bucket, rows] : buckets_) {
      state.put(static_cast<uint64_t>(bucket));
      state.put_all(rows);
    }
    below_->save(state);
  }
  void restore(StateReader& state) override {
    epoch_ = state.get<uint64_t>();
    ended_ = state.get<bool>();
    seen_ = state.get_count();
    buckets_.clear();
    for (auto left = state.get_count(std::ssize(sizes_)); left > 0; --left) {
      const auto bucket = static_cast<size_t>(state.get_count(std::ssize(boundaries_)));
      std::vector<Element>& rows = buckets_[bucket];
      state.get_all(rows, sizes_[bucket] - 1);
      if (rows.empty()) buckets_.erase(bucket);
    }
    below_->restore(state);
  }

 private:
  bool give(size_t bucket, Element& out) {
    const std::vector<Element> rows = std::move(buckets_[bucket]);
    buckets_.erase(bucket);
    out = padding({.padded_shapes = shapes_of(bucket, rows[0]), .padding_values = options_.padding_values})(rows);
    return true;
  }
  // By component: up to which length, -1 for that of the longest.
  std::vector<std::vector<int64_t>> shapes_of(size_t bucket, const Element& row) const {
    if (!options_.pad_to_bucket_boundary) return options_.padded_shapes;
    if (bucket == boundaries_.size())
      fail<ValueError>("bucket_by_sequence_length",
                       "with pad_to_bucket_boundary every length must be below the last boundary, {}; got {}",
                       boundaries_.empty() ? 0 : boundaries_.back(), describe(row));
    const int64_t largest = boundaries_[bucket] - 1;
    std::vector<std::vector<int64_t>> shapes = options_.padded_shapes;
    for (std::vector<int64_t>& shape : shapes) std::replace(shape.begin(), shape.end(), int64_t{-1}, largest);
    for (size_t c = shapes.size(); c < row.size(); ++c) {
      shapes.emplace_back(row[c].shape().rank(), -1);
      if (!shapes[c].empty()) shapes[c][0] = largest;
    }
    return shapes;
  }
  std::unique_ptr<Stream> below_;
  const KeyFunction length_;
  const std::vector<int64_t> boundaries_, sizes_;
  const BucketOptions options_;
  const StageId id_;
  uint64_t epoch_ = 0;
  std::map<size_t, std::vector<Element>> buckets_;
  int64_t seen_ = 0;
  bool ended_ = false;
};

class BucketStage : public StageOf<BucketStage> {
 public:
  BucketStage(StagePtr input, KeyFunction length, std::string code, std::vector<int64_t> boundaries,
              std::vector<int64_t> sizes, BucketOptions options)
      : StageOf({std::move(input)}),
        length_(std::move(length)),
        code_(std::move(code)),
        boundaries_(std::move(boundaries)),
        sizes_(std::move(sizes)),
        options_(std::move(options)) {
    if (sizes_.size() != boundaries_.size() + 1)
      fail<ValueError>("bucket_by_sequence_length", "needs one batch size more than boundaries, got {} and {}",
                       sizes_.size(), boundaries_.size());
    if (!std::is_sorted(boundaries_.begin(), boundaries_.end()) ||
        std::any_of(sizes_.begin(), sizes_.end(), [](int64_t size) { return size < 1; }))
      fail<ValueError>("bucket_by_sequence_length", "boundaries must rise and batch sizes must be at least 1");
  }
  std::string describe() const override { return fmt::format("bucket_by_sequence_length({} buckets)", sizes_.size()); }
  std::string fingerprint() const override {
    return fmt::format("bucket:{}:{}:{}:{}:{}:{}:{}", code_, boundaries_, sizes_, options_.drop_remainder,
                       options_.padding_values, options_.padded_shapes, options_.pad_to_bucket_boundary);
  }
  int64_t size() const override { return inputs()[0]->size() < 0 ? inputs()[0]->size() : kUnknownSize; }
  std::vector<ComponentSpec> specs() const override { return {}; }
  bool is_indexed() const override { return false; }
  bool has_user_code() const override { return true; }
  std::unique_ptr<Stream> stream(Run& run) const override {
    auto below = run.stream(inputs()[0]);
    return std::make_unique<BucketStream>(std::move(below), length_, boundaries_, sizes_, options_, run.add(*this));
  }

 private:
  KeyFunction length_;
  std::string code_;
  std::vector<int64_t> boundaries_, sizes_;
  BucketOptions options_;
};

}  // namespace

Element stack(const std::vector<Element>& rows) {
  BatchBuffers buffers;
  buffers.start(static_cast<int64_t>(rows.size()), rows.at(0), nullptr);
  for (size_t i = 0; i < rows.size(); ++i) buffers.set(static_cast<int64_t>(i), rows[i]);
  return buffers.finish(static_cast<int64_t>(rows.size()));
}

StagePtr collate_stage(StagePtr input, int64_t size, bool drop_remainder, Collate collate) {
  if (size < 1) fail<ValueError>("batch", "the size must be at least 1, got {}", size);
  const std::string code = collate.target_type().name();
  return std::make_shared<GroupStage>(std::move(input), fmt::format("batch({}, own collation)", size), code,
                                      Grouping{size, size, 1, drop_remainder}, std::move(collate), true);
}
StagePtr padded_batch_stage(StagePtr input, int64_t size, PaddedBatchOptions options) {
  if (size < 1) fail<ValueError>("padded_batch", "the size must be at least 1, got {}", size);
  const Grouping grouping{size, size, 1, options.drop_remainder};
  const std::string code = fmt::format("{}:{}", options.padded_shapes, options.padding_values);
  return std::make_shared<GroupStage>(std::move(input), fmt::format("padded_batch({})", size), code, grouping,
                                      padding(std::move(options)), false);
}
StagePtr window_stage(StagePtr input, int64_t size, const WindowOptions& options) {
  const int64_t shift = options.shift == 0 ? size : options.shift;
  if (size < 1 || shift < 1 || options.stride < 1)
    fail<ValueError>("window", "size, shift and stride must be at least 1, got {}, {} and {}", size, shift,
                     options.stride);
  return std::make_shared<GroupStage>(std::move(input),
                                      fmt::format("window({}, shift {}, stride {})", size, shift, options.stride), "",
                                      Grouping{size, shift, options.stride, options.drop_remainder}, stack, false);
}
StagePtr bucket_stage(StagePtr input, KeyFunction length, std::string code, std::vector<int64_t> boundaries,
                      std::vector<int64_t> batch_sizes, BucketOptions options) {
  return std::make_shared<BucketStage>(std::move(input), std::move(length), std::move(code), std::move(boundaries),
                                       std::move(batch_sizes), std::move(options));
}

}  // namespace isochron::data
