// The sources every program has: tensors, ranges, generators, one's own classes.
#include <fmt/ranges.h>

#include <algorithm>

#include "isochron/base/counts.h"
#include "isochron/base/crc32c.h"
#include "isochron/base/interrupt.h"
#include "isochron/data/dataset.h"
#include "isochron/data/run.h"

namespace isochron::data {
namespace {

uint32_t checksum(const Component& component, uint32_t before) {
  const std::string spec = to_string(component.component_spec());
  before = crc32c(spec, before);
  if (!component.is_text())
    return crc32c({reinterpret_cast<const char*>(component.data()), static_cast<size_t>(component.bytes())}, before);
  for (const std::string& text : component.texts()) before = crc32c({text.c_str(), text.size() + 1}, before);
  return before;
}

class TensorSlices : public IndexedSource {
 public:
  TensorSlices(std::vector<Component> columns, Names names) : columns_(std::move(columns)), names_(std::move(names)) {
    if (columns_.empty()) fail<ValueError>("from_tensor_slices", "needs at least one tensor");
    for (const Component& column : columns_) {
      if (column.shape().rank() < 1)
        fail<ShapeError>("from_tensor_slices", "a scalar has no rows; pass tensors that share their first axis");
      if (column.shape()[0] != columns_[0].shape()[0])
        fail<ShapeError>("from_tensor_slices", "all tensors need the same number of rows, got {} and {}",
                         columns_[0].shape()[0], column.shape()[0]);
      row_specs_.push_back({column.dtype(), column.shape().erase(0)});
      specs_.push_back({column.dtype(), row_specs_.back().shape.to_vector(), column.is_text()});
      texts_ = texts_ || column.is_text();
    }
  }
  int64_t size() const override { return columns_[0].shape()[0]; }
  void get(int64_t i, Element& out) const override {
    out.set_names(names_);
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].is_text()) {
        const int64_t each = row_specs_[c].shape.elements();
        const auto begin = columns_[c].texts().begin() + i * each;
        out.add(Component(Strings(begin, begin + each), row_specs_[c].shape));
      } else {
        out.add(Component::row(row_specs_[c], row(c, i), columns_[c].owner()));
      }
    }
  }
  bool view(int64_t i, std::span<const std::byte*> rows) const override {
    if (texts_) return false;
    for (size_t c = 0; c < rows.size(); ++c) rows[c] = row(c, i);
    return true;
  }
  bool slice(int64_t first, int64_t count, Element& out) const override {
    for (const Component& column : columns_)
      if (!column.owner()) return false;  // strings, or a few bytes that lie in this source
    for (size_t c = 0; c < columns_.size(); ++c)
      out.emplace(TensorSpec{columns_[c].dtype(), row_specs_[c].shape.insert(0, count)}, row(c, first),
                  columns_[c].owner());
    return true;
  }
  std::vector<ComponentSpec> specs() const override { return specs_; }
  Names names() const override { return names_; }
  bool in_memory() const override { return true; }
  std::string describe() const override { return fmt::format("from_tensor_slices({} rows)", size()); }
  std::string contents() const override {
    uint32_t sum = 0;
    for (const Component& column : columns_) sum = checksum(column, sum);
    return std::to_string(sum);
  }

 private:
  const std::byte* row(size_t column, int64_t i) const {
    return columns_[column].data() + i * row_specs_[column].bytes();
  }
  std::vector<Component> columns_;
  std::vector<TensorSpec> row_specs_;
  std::vector<ComponentSpec> specs_;
  Names names_;
  bool texts_ = false;
};

class Elements : public IndexedSource {
 public:
  Elements(std::string what, std::vector<Element> elements) : what_(std::move(what)), elements_(std::move(elements)) {
    const auto like_the_first = [&](const Element& element) {
      const auto same = [](const Component& a, const Component& b) {
        return a.is_text() == b.is_text() && a.spec() == b.spec();
      };
      return std::equal(element.begin(), element.end(), elements_[0].begin(), elements_[0].end(), same);
    };
    if (elements_.empty() || !std::all_of(elements_.begin(), elements_.end(), like_the_first)) return;
    for (const Component& component : elements_[0]) specs_.push_back(component.component_spec());
  }
  int64_t size() const override { return static_cast<int64_t>(elements_.size()); }
  void get(int64_t i, Element& out) const override { out = elements_[static_cast<size_t>(i)]; }
  bool view(int64_t i, std::span<const std::byte*> rows) const override {
    for (size_t c = 0; c < rows.size(); ++c) rows[c] = elements_[static_cast<size_t>(i)][c].data();
    return true;
  }
  std::vector<ComponentSpec> specs() const override { return specs_; }
  Names names() const override { return elements_.empty() ? nullptr : elements_[0].names(); }
  bool in_memory() const override { return true; }
  std::string describe() const override { return what_; }
  std::string contents() const override {
    uint32_t sum = 0;
    for (const Element& element : elements_)
      for (const Component& component : element) sum = checksum(component, sum);
    return std::to_string(sum);
  }

 private:
  std::string what_;
  std::vector<Element> elements_;
  std::vector<ComponentSpec> specs_;  // empty where elements differ
};

class Range : public IndexedSource {
 public:
  Range(int64_t start, int64_t stop, int64_t step) : start_(start), stop_(stop), step_(step) {
    if (step == 0) fail<ValueError>("range", "the step must not be 0");
    // Unsigned, where the whole range of int64 has room.
    const auto from = static_cast<uint64_t>(start), to = static_cast<uint64_t>(stop), by = static_cast<uint64_t>(step);
    const uint64_t size = step > 0       ? stop > start ? (to - from - 1) / by + 1 : 0
                          : start > stop ? (from - to - 1) / -by + 1
                                         : 0;
    size_ = static_cast<int64_t>(std::min<uint64_t>(size, INT64_MAX));
  }
  int64_t size() const override { return size_; }
  void get(int64_t i, Element& out) const override { out.emplace(Component::Scalar{}, at(i)); }
  void fill(int64_t i, std::span<std::byte* const> rows) const override {
    const int64_t value = at(i);
    std::memcpy(rows[0], &value, sizeof value);
  }
  std::vector<ComponentSpec> specs() const override { return {{DType::int64, {}}}; }
  bool in_memory() const override { return true; }
  std::string describe() const override {
    return start_ == 0 && step_ == 1 ? fmt::format("range({})", stop_)
                                     : fmt::format("range({}, {}, {})", start_, stop_, step_);
  }

 private:
  int64_t at(int64_t i) const {
    const uint64_t passed = static_cast<uint64_t>(i) * static_cast<uint64_t>(step_);
    return static_cast<int64_t>(static_cast<uint64_t>(start_) + passed);
  }
  int64_t start_, stop_, step_, size_;
};

class MapStyle : public IndexedSource {
 public:
  explicit MapStyle(std::shared_ptr<const MapStyleDataset> dataset) : dataset_(std::move(dataset)) {}
  int64_t size() const override { return dataset_->size(); }
  void get(int64_t i, Element& out) const override {
    out.become([&] { return dataset_->get(i); });
  }
  std::string describe() const override { return "dataset class"; }
  std::string fingerprint() const override { return fmt::format("{}:{}", typeid(*dataset_).name(), size()); }

 private:
  std::shared_ptr<const MapStyleDataset> dataset_;
};

// A generator can't be asked to go to a place: restoring calls it again and drops what came before.
class GeneratorReader : public StreamReader {
 public:
  GeneratorReader(GeneratorPass pass) : pass_(std::move(pass)) {}
  bool next(Element& out) override {
    const LocalRandom random(element_seed(seed_, 0, given_));
    if (!pass_(out)) return false;
    ++given_;
    return true;
  }
  void save(StateWriter& state) const override { state.put(given_); }
  void restore(StateReader& state) override {
    const int64_t wanted = state.get_count();
    Element dropped;
    while (given_ < wanted) {
      check_interrupt("restore");
      dropped.clear();
      if (!next(dropped)) fail<StateError>("restore", "the generator ended after {} elements, not {}", given_, wanted);
    }
  }

 private:
  GeneratorPass pass_;
  const uint64_t seed_ = get_seed();  // of this pass
  int64_t given_ = 0;
};

class Generator : public StreamSource {
 public:
  Generator(std::function<GeneratorPass()> make, std::string code, int64_t size)
      : make_(std::move(make)), code_(std::move(code)), size_(size) {}
  std::unique_ptr<StreamReader> open() const override { return std::make_unique<GeneratorReader>(make_()); }
  int64_t size() const override { return size_; }
  std::string describe() const override { return "from_generator()"; }
  std::string fingerprint() const override { return "from_generator:" + code_; }

 private:
  std::function<GeneratorPass()> make_;
  std::string code_;
  int64_t size_;
};

class IndexedSourceNode : public Indexed {
 public:
  IndexedSourceNode(std::shared_ptr<const IndexedSource> source, StageId id)
      : source_(std::move(source)), id_(id), size_(source_->size()), fills_(!source_->specs().empty()) {
    for (const ComponentSpec& spec : source_->specs()) {
      int64_t bytes = static_cast<int64_t>(size_of(spec.dtype));
      for (const int64_t extent : spec.dims) bytes = counted_product(bytes, std::max<int64_t>(0, extent));
      fill_bytes_ = counted_sum(fill_bytes_, bytes);
      fills_ = fills_ && !spec.text;
    }
  }
  int64_t size() const override { return size_; }
  void get(int64_t index, uint64_t epoch, Worker& worker, Element& out) override {
    guarded(index, epoch, worker, [&](UserCode* code) {
      source_->get(index, out);
      if (code) code->made(out);
    });
  }
  bool view(int64_t index, uint64_t, std::span<const std::byte*> rows) override {
    return fills_ && source_->view(index, rows);
  }
  bool slice(int64_t first, int64_t count, Element& out) override {
    return fills_ && source_->slice(first, count, out);
  }
  bool fill(int64_t index, uint64_t epoch, Worker& worker, std::span<std::byte* const> rows) override {
    if (fills_)
      guarded(index, epoch, worker, [&](UserCode* code) {
        source_->fill(index, rows);
        if (code) code->made(fill_bytes_);
      });
    return fills_;
  }

 private:
  template <class F>
  void guarded(int64_t index, uint64_t epoch, Worker& worker, F&& f) {
    if (in_memory_) return f(nullptr);  // too cheap to be counted
    UserCode code(worker, id_, index, epoch);
    try {
      f(&code);
    } catch (...) {
      worker.failed_file = source_->file_of(index);
      throw;
    }
  }
  std::shared_ptr<const IndexedSource> source_;
  const StageId id_;
  const int64_t size_;
  const bool in_memory_ = source_->in_memory();
  bool fills_;
  int64_t fill_bytes_ = 0;
};

class StreamSourceNode : public Stream {
 public:
  StreamSourceNode(std::shared_ptr<const StreamSource> source, StageId id) : source_(std::move(source)), id_(id) {}
  void begin(uint64_t epoch) override {
    epoch_ = epoch;
    open();
    given_ = 0;
  }
  bool next(Worker& worker, Element& out) override {
    if (!reader_) return false;
    UserCode code(worker, id_, given_, epoch_);
    try {
      if (!reader_->next(out)) {
        add(worker.counters(id_.number).elements, -1);  // the end is no element
        return false;
      }
      code.made(out);
    } catch (...) {
      worker.failed_file = reader_->file();
      throw;
    }
    ++given_;
    return true;
  }
  void save(StateWriter& state) override {
    state.put(epoch_);
    state.put(given_);
    state.put(reader_ != nullptr);
    if (reader_) reader_->save(state);
  }
  void restore(StateReader& state) override {
    epoch_ = state.get<uint64_t>();
    given_ = state.get_count();
    reader_.reset();
    if (!state.get<bool>()) return;
    open();
    reader_->restore(state);
  }

 private:
  void open() {
    const LocalRandom random(element_seed(id_.seed, epoch_, -1));
    reader_ = source_->open();
  }
  std::shared_ptr<const StreamSource> source_;
  const StageId id_;
  std::unique_ptr<StreamReader> reader_;
  uint64_t epoch_ = 0;
  int64_t given_ = 0;
};

class IndexedSourceStage : public Stage {
 public:
  explicit IndexedSourceStage(std::shared_ptr<const IndexedSource> source) : source_(std::move(source)) {}
  std::string describe() const override { return source_->describe(); }
  std::string fingerprint() const override { return source_->fingerprint(); }
  std::string contents() const override {
    return names() ? fmt::format("{}:{}", source_->contents(), fmt::join(*names(), ",")) : source_->contents();
  }
  int64_t size() const override { return source_->size(); }
  std::vector<ComponentSpec> specs() const override { return source_->specs(); }
  Names names() const override { return source_->names(); }
  bool is_indexed() const override { return true; }
  bool has_user_code() const override { return !source_->in_memory(); }
  void add_notes(PipelineReport& report) const override {
    if (std::string note = source_->note(); !note.empty()) report.notes.push_back(std::move(note));
  }
  std::unique_ptr<Indexed> indexed(Run& run) const override {
    return std::make_unique<IndexedSourceNode>(source_, run.add(*this));
  }
  StagePtr with_inputs(std::vector<StagePtr>) const override { return std::make_shared<IndexedSourceStage>(*this); }

 private:
  std::shared_ptr<const IndexedSource> source_;
};

class StreamSourceStage : public Stage {
 public:
  explicit StreamSourceStage(std::shared_ptr<const StreamSource> source) : source_(std::move(source)) {}
  std::string describe() const override { return source_->describe(); }
  std::string fingerprint() const override { return source_->fingerprint(); }
  int64_t size() const override { return source_->size(); }
  bool is_indexed() const override { return false; }
  std::unique_ptr<Stream> stream(Run& run) const override {
    return std::make_unique<StreamSourceNode>(source_, run.add(*this));
  }
  StagePtr with_inputs(std::vector<StagePtr>) const override { return std::make_shared<StreamSourceStage>(*this); }

 private:
  std::shared_ptr<const StreamSource> source_;
};

}  // namespace

void IndexedSource::fill(int64_t i, std::span<std::byte* const> rows) const {
  Element element;
  get(i, element);
  const std::vector<ComponentSpec> promised = specs();
  const auto same = [](const Component& component, const ComponentSpec& spec) {
    return component.component_spec() == spec;
  };
  if (!std::equal(element.begin(), element.end(), promised.begin(), promised.end(), same))
    fail<ShapeError>("batch", "element {} of {} is {}, its specs() say {}", i, describe(), data::describe(element),
                     to_string(promised));
  for (size_t c = 0; c < rows.size(); ++c)
    std::memcpy(rows[c], element[c].data(), static_cast<size_t>(element[c].bytes()));
}

Dataset from_source(std::shared_ptr<const IndexedSource> source) {
  return Dataset(std::make_shared<IndexedSourceStage>(std::move(source)));
}
Dataset from_source(std::shared_ptr<const StreamSource> source) {
  return Dataset(std::make_shared<StreamSourceStage>(std::move(source)));
}

Dataset from_elements(std::vector<Element> elements) {
  return from_source(
      std::make_shared<Elements>(fmt::format("from_elements({})", elements.size()), std::move(elements)));
}
Dataset from_tensors(std::vector<Component> components, Names names) {
  return from_source(std::make_shared<Elements>(
      "from_tensors()", std::vector<Element>{Element(std::move(components), std::move(names))}));
}
Dataset from_tensor_slices(std::vector<Component> columns, Names names) {
  return from_source(std::make_shared<TensorSlices>(std::move(columns), std::move(names)));
}
Dataset from_tensor_slices(std::vector<std::pair<std::string, Component>> columns) {
  std::vector<std::string> names;
  std::vector<Component> components;
  for (auto& [name, component] : columns) {
    names.push_back(name);
    components.push_back(std::move(component));
  }
  return from_tensor_slices(std::move(components), std::make_shared<const std::vector<std::string>>(std::move(names)));
}
Dataset range(int64_t start, int64_t stop, int64_t step) {
  return from_source(std::make_shared<Range>(start, stop, step));
}
Dataset range(int64_t stop) { return range(0, stop); }
Dataset from_map_style(std::shared_ptr<const MapStyleDataset> dataset) {
  if (!dataset) fail<ValueError>("from_map_style", "the dataset is a null pointer");
  return from_source(std::make_shared<MapStyle>(std::move(dataset)));
}
Dataset from_generator_passes(std::function<GeneratorPass()> make, std::string code, int64_t size) {
  return from_source(std::make_shared<Generator>(std::move(make), std::move(code), size));
}

}  // namespace isochron::data
