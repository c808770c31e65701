#include "isochron/data/batch.h"

#include <algorithm>

#include "isochron/base/counts.h"
#include "isochron/data/stages.h"

namespace isochron::data {
namespace {

// Rows of at most this many columns are gathered without an allocation.
constexpr size_t kColumns = 16;

constexpr int64_t kAhead = 8, kSmallRow = 4096;

void fetch(const Element& row) {
  for (const Component& component : row) {
    if (!component.owner()) continue;  // it holds its bytes itself
    for (int64_t i = 0, bytes = component.bytes(); i < bytes; i += 64) __builtin_prefetch(component.data() + i);
  }
}

// Labels are common enough to be copied without a call.
void copy_row(const std::byte* from, std::byte* to, int64_t bytes) {
  if (bytes == sizeof(int64_t))
    std::memcpy(to, from, sizeof(int64_t));
  else
    std::memcpy(to, from, static_cast<size_t>(bytes));
}

[[noreturn]] void fail_unlike(size_t component, const ComponentSpec& own, const ComponentSpec& first) {
  const bool lengths = own.text == first.text && own.dtype == first.dtype && own.dims.size() == first.dims.size();
  fail<ShapeError>("batch", "component {} of an element is {}, of the first in the batch {}{}", component,
                   to_string(own), to_string(first), lengths ? "; use padded_batch for lengths that vary" : "");
}

class BatchStream : public Stream {
 public:
  BatchStream(std::unique_ptr<Stream> below, int64_t size, bool drop, Conversions conversions, int id)
      : below_(std::move(below)), size_(size), drop_(drop), conversions_(std::move(conversions)), id_(id) {}
  void begin(uint64_t epoch) override { below_->begin(epoch); }
  bool next(Worker& worker, Element& out) override {
    BatchBuffers buffers;
    Element row;
    int64_t rows = 0;
    for (; rows < size_; ++rows) {
      row.clear();
      if (!below_->next(worker, row)) break;
      if (rows == 0) buffers.start(size_, row, &conversions_);
      buffers.set(rows, row);
    }
    if (rows == 0 || (drop_ && rows < size_)) return false;
    out = buffers.finish(rows);
    add(worker.counters(id_).elements, 1);
    add(worker.counters(id_).bytes, out.bytes());
    return true;
  }
  void save(StateWriter& state) override { below_->save(state); }
  void restore(StateReader& state) override { below_->restore(state); }

 private:
  std::unique_ptr<Stream> below_;
  const int64_t size_;
  const bool drop_;
  const Conversions conversions_;
  const int id_;
};

// One component converted; mostly merged into a batch before it runs.
class CastIndexed : public Indexed {
 public:
  CastIndexed(std::unique_ptr<Indexed> below, Conversions conversions)
      : below_(std::move(below)), conversions_(std::move(conversions)) {}
  int64_t size() const override { return below_->size(); }
  void get(int64_t index, uint64_t epoch, Worker& worker, Element& out) override {
    Element in;
    below_->get(index, epoch, worker, in);
    out = converted(in, conversions_);
  }

 private:
  std::unique_ptr<Indexed> below_;
  const Conversions conversions_;
};

class CastStream : public Stream {
 public:
  CastStream(std::unique_ptr<Stream> below, Conversions conversions)
      : below_(std::move(below)), conversions_(std::move(conversions)) {}
  void begin(uint64_t epoch) override { below_->begin(epoch); }
  bool next(Worker& worker, Element& out) override {
    Element in;
    if (!below_->next(worker, in)) return false;
    out = converted(in, conversions_);
    return true;
  }
  void save(StateWriter& state) override { below_->save(state); }
  void restore(StateReader& state) override { below_->restore(state); }

 private:
  std::unique_ptr<Stream> below_;
  const Conversions conversions_;
};

class CastStage : public StageOf<CastStage> {
 public:
  CastStage(StagePtr input, Conversions conversions)
      : StageOf({std::move(input)}), conversions_(std::move(conversions)) {}
  std::string describe() const override { return to_string(conversions_); }
  std::vector<ComponentSpec> specs() const override {
    std::vector<ComponentSpec> specs = inputs()[0]->specs();
    for (size_t c = 0; c < std::min(specs.size(), conversions_.size()); ++c)
      specs[c].dtype = conversions_[c].result(specs[c].dtype);
    return specs;
  }
  bool is_indexed() const override { return inputs_indexed(); }
  std::unique_ptr<Indexed> indexed(Run& run) const override {
    auto below = run.indexed(inputs()[0]);
    run.add(*this);
    return std::make_unique<CastIndexed>(std::move(below), conversions_);
  }
  std::unique_ptr<Stream> stream(Run& run) const override {
    auto below = run.stream(inputs()[0]);
    run.add(*this);
    return std::make_unique<CastStream>(std::move(below), conversions_);
  }
  StagePtr merged_with_input() const override;
  const Conversions& conversions() const { return conversions_; }

 private:
  const Conversions conversions_;
};

// First `inner`, then `outer`, in one step; nothing where rounding in between matters.
std::optional<Conversions> chained(const Conversions& inner, const Conversions& outer) {
  Conversions out(std::max(inner.size(), outer.size()));
  for (size_t c = 0; c < out.size(); ++c) {
    const Conversion a = c < inner.size() ? inner[c] : Conversion{}, b = c < outer.size() ? outer[c] : Conversion{};
    if (!a.nothing() && !b.nothing()) return std::nullopt;
    out[c] = a.nothing() ? b : a;
  }
  return out;
}

class BatchStage : public StageOf<BatchStage> {
 public:
  BatchStage(StagePtr input, int64_t size, bool drop, Conversions conversions)
      : StageOf({std::move(input)}), size_(size), drop_(drop), conversions_(std::move(conversions)) {}
  std::string describe() const override {
    return fmt::format("batch({}{}{})", size_, drop_ ? ", drop_remainder" : "",
                       conversions_.empty() ? "" : ", " + to_string(conversions_));
  }
  int64_t size() const override {
    const int64_t rows = inputs()[0]->size();
    return rows < 0 ? rows : drop_ ? rows / size_ : parts_of(rows, size_);
  }
  std::vector<ComponentSpec> specs() const override {
    std::vector<ComponentSpec> specs = inputs()[0]->specs();
    const int64_t rows = inputs()[0]->size();
    for (size_t c = 0; c < specs.size(); ++c) {
      specs[c].dims.insert(specs[c].dims.begin(), drop_ || (rows >= 0 && rows % size_ == 0) ? size_ : -1);
      if (c < conversions_.size()) specs[c].dtype = conversions_[c].result(specs[c].dtype);
    }
    return specs;
  }
  bool is_indexed() const override { return inputs_indexed(); }
  std::unique_ptr<Indexed> indexed(Run& run) const override {
    auto below = run.indexed(inputs()[0]);
    return std::make_unique<BatchIndexed>(std::move(below), *inputs()[0], size_, drop_, conversions_,
                                          run.add(*this).number);
  }
  std::unique_ptr<Stream> stream(Run& run) const override {
    auto below = run.stream(inputs()[0]);
    return std::make_unique<BatchStream>(std::move(below), size_, drop_, conversions_, run.add(*this).number);
  }
  // batch over cast: rows are converted on their way into the batch.
  StagePtr merged_with_input() const override {
    const auto* cast = dynamic_cast<const CastStage*>(inputs()[0].get());
    if (!cast) return nullptr;
    const auto both = chained(cast->conversions(), conversions_);
    return both ? std::make_shared<BatchStage>(cast->inputs()[0], size_, drop_, *both) : nullptr;
  }
  // cast over batch, likewise.
  StagePtr with_cast(const Conversions& after) const {
    const auto both = chained(conversions_, after);
    return both ? std::make_shared<BatchStage>(inputs()[0], size_, drop_, *both) : nullptr;
  }

 private:
  const int64_t size_;
  const bool drop_;
  const Conversions conversions_;
};

StagePtr CastStage::merged_with_input() const {
  if (const auto* batch = dynamic_cast<const BatchStage*>(inputs()[0].get())) return batch->with_cast(conversions_);
  // Prefetching does not look at elements: convert before.
  if (inputs()[0]->ahead() != 0)
    return inputs()[0]->with_inputs({std::make_shared<CastStage>(inputs()[0]->inputs()[0], conversions_)});
  return nullptr;
}

}  // namespace

void BatchBuffers::start(int64_t rows, const std::vector<TensorSpec>& specs, const std::vector<bool>& texts,
                         Names names, const Conversions* conversions) {
  if (conversions) check_components(*conversions, specs.size());
  rows_ = rows;
  names_ = std::move(names);
  columns_.resize(specs.size());
  for (size_t c = 0; c < specs.size(); ++c) {
    Column& column = columns_[c];
    column.spec = specs[c];
    column.text = texts[c];
    const int64_t elements = specs[c].shape.insert(0, rows).elements();  // ShapeError for more than memory can hold
    if (column.text) {
      if (conversions) check_no_text(*conversions, c);
      column.texts.resize(static_cast<size_t>(elements));
      continue;
    }
    if (conversions && c < conversions->size()) column.conversion = (*conversions)[c];
    column.copied = column.conversion.nothing();
    converts_ = converts_ || !column.copied;
    const DType target = column.conversion.result(specs[c].dtype);
    column.target_bytes = specs[c].shape.elements() * static_cast<int64_t>(size_of(target));
    column.bytes = Storage::allocate(static_cast<size_t>(elements) * size_of(target));
  }
}

void BatchBuffers::start(int64_t rows, const Element& first, const Conversions* conversions) {
  std::vector<TensorSpec> specs;
  std::vector<bool> texts;
  for (const Component& component : first) {
    specs.push_back(component.spec());
    texts.push_back(component.is_text());
  }
  if (specs.empty()) fail<ShapeError>("batch", "elements without components can't be stacked");
  start(rows, specs, texts, first.names(), conversions);
}

bool BatchBuffers::fits(const Element& element) const {
  if (element.size() != columns_.size()) return false;
  for (size_t c = 0; c < columns_.size(); ++c)
    if (element[c].is_text() != columns_[c].text || element[c].spec() != columns_[c].spec) return false;
  return true;
}

Element BatchBuffers::row(int64_t row) const {
  Element out;
  out.set_names(names_);
  for (const Column& column : columns_)
    out.add(Component(column.spec, column.bytes.data() + row * column.target_bytes, column.bytes));
  return out;
}

void BatchBuffers::set(int64_t row, const Element& element) {
  if (element.size() != columns_.size())
    fail<ShapeError>("batch", "all elements need the same components, got {} and {}", columns_.size(), element.size());
  for (size_t c = 0; c < columns_.size(); ++c) {
    Column& column = columns_[c];
    const Component& from = element[c];
    if (from.is_text() != column.text || from.spec() != column.spec)
      fail_unlike(c, from.component_spec(), {column.spec.dtype, column.spec.shape.to_vector(), column.text});
    if (column.copied)
      copy_row(from.data(), place(row, c), column.target_bytes);
    else if (column.text)
      std::copy(from.texts().begin(), from.texts().end(), column.texts.begin() + row * from.shape().elements());
    else
      convert(from.data(), column.spec.dtype, place(row, c), column.conversion, column.spec.shape.elements());
  }
}

void BatchBuffers::set(int64_t row, std::span<const std::byte* const> bytes) {
  for (size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    if (column.copied)
      copy_row(bytes[c], place(row, c), column.target_bytes);
    else
      convert(bytes[c], column.spec.dtype, place(row, c), column.conversion, column.spec.shape.elements());
  }
}

Element BatchBuffers::finish(int64_t rows) {
  Element out;
  out.set_names(std::move(names_));
  for (Column& column : columns_) {
    const Shape shape = column.spec.shape.insert(0, rows);
    if (column.text) {
      column.texts.resize(static_cast<size_t>(shape.elements()));
      out.add(Component(std::move(column.texts), shape));
      continue;
    }
    const std::byte* data = column.bytes.data();
    out.add(Component({column.conversion.result(column.spec.dtype), shape}, data, std::move(column.bytes)));
  }
  columns_.clear();
  converts_ = false;
  return out;
}

BatchIndexed::BatchIndexed(std::unique_ptr<Indexed> below, const Stage& input, int64_t size, bool drop_remainder,
                           Conversions conversions, int id)
    : below_(std::move(below)),
      size_(size),
      rows_(below_->size()),
      conversions_(std::move(conversions)),
      converts_(!std::all_of(conversions_.begin(), conversions_.end(), [](const auto& c) { return c.nothing(); })),
      id_(id),
      names_(input.names()) {
  batches_ = rows_ < 0 ? rows_ : drop_remainder ? rows_ / size_ : parts_of(rows_, size_);
  for (const ComponentSpec& spec : input.specs()) {
    const bool known = !spec.text && std::none_of(spec.dims.begin(), spec.dims.end(), [](int64_t d) { return d < 0; });
    if (!known || row_specs_.size() == kColumns) {
      row_specs_.clear();
      break;
    }
    row_specs_.push_back({spec.dtype, Shape(spec.dims)});
  }
}

bool BatchIndexed::slice(int64_t index, Element& out) {
  if (row_specs_.empty() || converts_ || rows_ < 0) return false;  // of what never ends, nothing lies in one piece
  if (!below_->slice(index * size_, rows_of(index), out)) return false;
  out.set_names(names_);
  return true;
}

void BatchIndexed::prepare(int64_t index, uint64_t, Assembly& assembly) {
  const int64_t rows = rows_of(index);
  if (slice(index, assembly.whole)) return;
  if (!row_specs_.empty()) {
    assembly.buffers.start(rows, row_specs_, std::vector<bool>(row_specs_.size()), names_, &conversions_);
    return;
  }
  std::lock_guard lock(guess_mutex_);
  assembly.guessed = !guess_.empty();
  if (assembly.guessed)
    assembly.buffers.start(rows, guess_, std::vector<bool>(guess_.size()), guessed_names_, nullptr);
  else
    assembly.rows.resize(static_cast<size_t>(rows));
}

void BatchIndexed::expect_like(const Element& row) {
  std::lock_guard lock(guess_mutex_);
  guess_.clear();
  if (!conversions_.empty()) return;
  for (const Component& component : row)
    if (component.is_text()) return;
  for (const Component& component : row) guess_.push_back(component.spec());
  guessed_names_ = row.names();
}

void BatchIndexed::take_back_guess(Assembly& assembly, int64_t rows) const {
  for (int64_t row = 0; row < rows; ++row) assembly.rows.push_back(assembly.buffers.row(row));
  for (auto& [row, element] : assembly.odd) assembly.rows[static_cast<size_t>(row)] = std::move(element);
  assembly.buffers = {};
}

void BatchIndexed::make(int64_t index, uint64_t epoch, int64_t first, int64_t last, Worker& worker,
                        Assembly& assembly) {
  if (!assembly.whole.empty()) return;
  const int64_t base = index * size_;
  int64_t row = first;
  BatchBuffers& buffers = assembly.buffers;
  if (assembly.guessed) {
    for (; row < last; ++row) {
      Element element;
      below_->get(base + row, epoch, worker, element);
      if (buffers.fits(element)) {
        buffers.set(row, element);
      } else {
        std::lock_guard lock(assembly.odd_mutex);
        assembly.odd.emplace_back(row, std::move(element));
      }
    }
  } else if (buffers.started()) {
    const size_t columns = row_specs_.size();
    std::array<const std::byte*, kColumns> views;
    std::array<std::byte*, kColumns> places;
    for (; row < last && below_->view(base + row, epoch, {views.data(), columns}); ++row)
      buffers.set(row, {views.data(), columns});
    for (; row < last && !buffers.converts(); ++row) {
      for (size_t c = 0; c < columns; ++c) places[c] = buffers.place(row, c);
      if (!below_->fill(base + row, epoch, worker, {places.data(), columns})) break;
    }
    Element element;
    for (; row < last; ++row) {
      element.clear();
      below_->get(base + row, epoch, worker, element);
      buffers.set(row, element);
    }
  }
  for (; row < last; ++row) below_->get(base + row, epoch, worker, assembly.rows[static_cast<size_t>(row)]);
}

void BatchIndexed::complete(int64_t index, uint64_t, Worker& worker, Assembly& assembly, Element& out) {
  const int64_t rows = rows_of(index);
  if (!assembly.odd.empty()) take_back_guess(assembly, rows);
  if (!assembly.whole.empty()) {
    out = std::move(assembly.whole);
    assembly.whole.clear();
  } else if (!assembly.buffers.started()) {
    expect_like(assembly.rows[0]);
    assembly.buffers.start(rows, assembly.rows[0], &conversions_);
    for (int64_t row = 0; row < rows; ++row) assembly.buffers.set(row, assembly.rows[static_cast<size_t>(row)]);
    assembly.rows.clear();
  }
  if (out.empty()) out = assembly.buffers.finish(rows);
  add(worker.counters(id_).elements, 1);
  add(worker.counters(id_).bytes, out.bytes());
}

void BatchIndexed::get(int64_t index, uint64_t epoch, Worker& worker, Element& out) {
  const int64_t rows = rows_of(index);
  Assembly assembly;
  if (row_specs_.empty()) {
    // In one thread the first row tells the specs, and no row needs a place of its own. Small rows wait a little: where
    // they are views of an array, their bytes are on the way from memory until they are copied.
    std::array<Element, kAhead> waiting;
    int64_t ahead = 1;  // 1 or kAhead, powers of two
    for (int64_t i = 0; i < rows; ++i) {
      Element& row = waiting[static_cast<size_t>(i & (ahead - 1))];
      if (i >= ahead) assembly.buffers.set(i - ahead, row);
      row.clear();
      below_->get(index * size_ + i, epoch, worker, row);
      if (i == 0) {
        assembly.buffers.start(rows, row, &conversions_);
        if (row.bytes() <= kSmallRow) ahead = kAhead;
      }
      if (ahead > 1) fetch(row);
    }
    for (int64_t i = std::max<int64_t>(0, rows - ahead); i < rows; ++i)
      assembly.buffers.set(i, waiting[static_cast<size_t>(i & (ahead - 1))]);
  } else {
    prepare(index, epoch, assembly);
    make(index, epoch, 0, rows, worker, assembly);
  }
  complete(index, epoch, worker, assembly, out);
}

StagePtr cast_stage(StagePtr input, const CastOptions& options) {
  Conversions conversions(options.component + 1);
  if (const size_t known = input->specs().size(); known > 0) check_components(conversions, known);
  conversions[options.component] = {options.dtype, options.scale, options.shift};
  return std::make_shared<CastStage>(std::move(input), std::move(conversions));
}

StagePtr batch_stage(StagePtr input, int64_t size, bool drop_remainder, Conversions conversions) {
  if (size < 1) fail<ValueError>("batch", "the size must be at least 1, got {}", size);
  return std::make_shared<BatchStage>(std::move(input), size, drop_remainder, std::move(conversions));
}

}  // namespace isochron::data
