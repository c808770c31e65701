#include "isochron/data/element.h"

#include "isochron/base/names.h"

namespace isochron::data {

std::string to_string(const ComponentSpec& spec) {
  std::string dims;
  for (int64_t d : spec.dims) dims += (dims.empty() ? "" : ", ") + (d < 0 ? std::string("?") : std::to_string(d));
  return fmt::format("{}({})", spec.text ? "string" : name_of(spec.dtype), dims);
}

std::string to_string(const std::vector<ComponentSpec>& specs) {
  std::string text;
  for (const ComponentSpec& spec : specs) text += (text.empty() ? "" : ", ") + to_string(spec);
  return "(" + text + ")";
}

Component::Component(const Tensor& tensor) : spec_(tensor.spec()) {
  const auto* bytes = static_cast<const std::byte*>(tensor.eval().raw_data());
  if (spec_.bytes() <= static_cast<int64_t>(small_.size())) {
    if (spec_.bytes() > 0) std::memcpy(small_.data(), bytes, static_cast<size_t>(spec_.bytes()));
    return;
  }
  data_ = bytes;
  const Value& value = tensor.value();
  // The bytes of a variable are overwritten by later steps, unless somebody holds a handle of this value.
  if (value.node->role == LeafRole::variable)
    owner_ =
        Storage::wrap(const_cast<std::byte*>(bytes), static_cast<size_t>(spec_.bytes()), [held = Tensor(value)] {});
  else
    owner_ = value.node->results[static_cast<size_t>(value.index)];
}

Component::Component(Strings texts, const Shape& shape) : texts_(std::make_shared<Strings>(std::move(texts))) {
  spec_.shape = shape;
  ISO_CHECK(static_cast<int64_t>(texts_->size()) == shape.elements());
}

int64_t Component::bytes() const {
  if (!texts_) return spec_.bytes();
  int64_t sum = 0;
  for (const std::string& text : *texts_) sum += static_cast<int64_t>(text.size());
  return sum;
}

void Component::refuse_text() const {
  fail<DTypeError>("data", "the component holds strings, no numbers: use text() or texts()");
}

Tensor Component::tensor() const {
  if (texts_) refuse_text();
  const auto size = static_cast<size_t>(spec_.bytes());
  if (!data_) {
    Storage copy = Storage::allocate(size);
    std::memcpy(copy.data(), small_.data(), size);
    return Tensor::from_storage(std::move(copy), spec_);
  }
  if (owner_.data() == data_) return Tensor::from_storage(owner_, spec_);
  return Tensor::from_storage(Storage::wrap(const_cast<std::byte*>(data_), size, [owner = owner_] {}), spec_);
}

const Strings& Component::texts() const {
  if (!texts_) fail<DTypeError>("texts", "the component holds {}, no strings", name_of(spec_.dtype));
  return *texts_;
}

const std::string& Component::text() const {
  const Strings& all = texts();
  if (all.size() != 1) fail<ShapeError>("text", "needs exactly one string, got shape {}", spec_.shape);
  return all.front();
}

Element::Element(std::vector<Component> components, Names names) : names_(std::move(names)) {
  for (Component& component : components) components_.push_back(std::move(component));
}

void Element::refuse_index(size_t i) const {
  fail<IndexError>("element", "component {} of an element of {}: {}", i, size(), describe(*this));
}

const Component& Element::operator[](std::string_view name) const {
  const std::vector<std::string> none;
  const std::vector<std::string>& known = names_ ? *names_ : none;
  for (size_t i = 0; i < known.size() && i < size(); ++i)
    if (known[i] == name) return components_[i];
  fail<ValueError>("element", "no component \"{}\"{}", name,
                   did_you_mean(name, std::vector<std::string_view>(known.begin(), known.end())));
}

int64_t Element::bytes() const {
  int64_t sum = 0;
  for (const Component& component : *this) sum += component.bytes();
  return sum;
}

std::string describe(const Element& element) {
  std::string text;
  for (size_t i = 0; i < element.size(); ++i) {
    if (i) text += ", ";
    if (element.names() && i < element.names()->size()) text += (*element.names())[i] + ": ";
    text += to_string(element[i].component_spec());
  }
  return "(" + text + ")";
}

void StateWriter::put(const std::string& text) {
  put(static_cast<uint64_t>(text.size()));
  bytes_ += text;
}

void StateWriter::put(const Element& element) {
  put(static_cast<uint32_t>(element.size()));
  for (const Component& component : element) {
    put(component.is_text());
    put(component.dtype());
    put(static_cast<int32_t>(component.shape().rank()));
    for (int64_t d : component.shape()) put(d);
    if (component.is_text())
      for (const std::string& text : component.texts()) put(text);
    else
      bytes_.append(reinterpret_cast<const char*>(component.data()), static_cast<size_t>(component.bytes()));
  }
  put(static_cast<uint32_t>(element.names() ? element.names()->size() : 0));
  if (element.names())
    for (const std::string& name : *element.names()) put(name);
}

const char* StateReader::take(size_t bytes) {
  if (bytes > bytes_.size()) fail<StateError>("restore", "the state of the pipeline is cut short or of another one");
  const char* at = bytes_.data();
  bytes_.remove_prefix(bytes);
  return at;
}

bool StateReader::get_flag() {
  const char flag = *take(1);
  if (flag != 0 && flag != 1) fail<StateError>("restore", "the state of the pipeline is damaged");
  return flag == 1;
}

int64_t StateReader::get_count(int64_t most) {
  const auto count = get<int64_t>();
  if (count < 0 || count > most)
    fail<StateError>("restore", "the state does not fit this pipeline: it holds {} where 0 to {} are possible", count,
                     most);
  return count;
}

std::string StateReader::get_string() {
  const auto size = get<uint64_t>();
  return std::string(take(size), size);
}

Element StateReader::get_element() {
  Element out;
  const auto count = get<uint32_t>();
  for (uint32_t i = 0; i < count; ++i) {
    const bool text = get<bool>();
    const auto dtype = get<DType>();
    const auto rank = get<int32_t>();
    if (rank < 0 || rank > kMaxRank || static_cast<int>(dtype) >= kDTypeCount)
      fail<StateError>("restore", "the state of the pipeline is damaged");
    std::vector<int64_t> dims;
    for (int32_t axis = 0; axis < rank; ++axis) dims.push_back(get<int64_t>());
    const Shape shape(dims);
    if (text) {
      Strings texts;
      for (int64_t k = 0; k < shape.elements(); ++k) texts.push_back(get_string());
      out.add(Component(std::move(texts), shape));
    } else {
      const TensorSpec spec{dtype, shape};
      const char* from = take(static_cast<size_t>(spec.bytes()));
      Storage bytes = Storage::allocate(static_cast<size_t>(spec.bytes()));
      std::memcpy(bytes.data(), from, static_cast<size_t>(spec.bytes()));
      const std::byte* data = bytes.data();
      out.add(Component(spec, data, std::move(bytes)));
    }
  }
  if (const auto names = get<uint32_t>()) {
    std::vector<std::string> all;
    for (uint32_t i = 0; i < names; ++i) all.push_back(get_string());
    out.set_names(std::make_shared<const std::vector<std::string>>(std::move(all)));
  }
  return out;
}

}  // namespace isochron::data
