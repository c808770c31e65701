#include "isochron/nn/hashing.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "isochron/base/names.h"
#include "isochron/ops/elementwise.h"

namespace isochron {
namespace {

// FarmHash's constants; the names say nothing there either.
constexpr uint64_t k0 = 0xc3a5c85c97cb3127, k1 = 0xb492b66fbe98f273, k2 = 0x9ae16a3b2f90404f;

template <class T = uint64_t>
uint64_t load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
uint64_t folded(uint64_t x) { return x ^ (x >> 47); }
uint64_t mixed(uint64_t u, uint64_t v, uint64_t mul) { return folded((v ^ folded((u ^ v) * mul)) * mul) * mul; }

struct Two {
  uint64_t first = 0, second = 0;
};
// 32 bytes into a pair.
Two absorbed(const char* s, uint64_t a, uint64_t b) {
  a += load(s);
  b = std::rotr(b + a + load(s + 24), 21);
  const uint64_t kept = a;
  a += load(s + 8) + load(s + 16);
  return {a + load(s + 24), b + std::rotr(a, 44) + kept};
}

uint64_t hash_to_16(const char* s, uint64_t n) {
  const uint64_t mul = k2 + 2 * n;
  if (n >= 8) {
    const uint64_t a = load(s) + k2, b = load(s + n - 8);
    return mixed(std::rotr(b, 37) * mul + a, (std::rotr(a, 25) + b) * mul, mul);
  }
  if (n >= 4) return mixed(n + (load<uint32_t>(s) << 3), load<uint32_t>(s + n - 4), mul);
  if (n == 0) return k2;
  const uint64_t y = load<uint8_t>(s) + (load<uint8_t>(s + (n >> 1)) << 8), z = n + (load<uint8_t>(s + n - 1) << 2);
  return folded((y * k2) ^ (z * k0)) * k2;
}

uint64_t hash_to_64(const char* s, uint64_t n) {
  const uint64_t mul = k2 + 2 * n;
  const uint64_t a = load(s) * (n <= 32 ? k1 : k2), b = load(s + 8), c = load(s + n - 8) * mul,
                 d = load(s + n - 16) * k2;
  const uint64_t y = std::rotr(a + b, 43) + std::rotr(c, 30) + d;
  const uint64_t z = mixed(y, a + std::rotr(b + k2, 18) + c, mul);
  if (n <= 32) return z;
  const uint64_t e = load(s + 16) * mul, f = load(s + 24), g = (y + load(s + n - 32)) * mul,
                 h = (z + load(s + n - 24)) * mul;
  return mixed(std::rotr(e + f, 43) + std::rotr(g, 30) + h, e + std::rotr(f + a, 18) + g, mul);
}

// One block of 64 bytes of a longer text.
struct Blocks {
  uint64_t x, y, z;
  Two v, w;
  void take(const char* s, uint64_t mul, uint64_t more) {
    x = std::rotr(x + y + v.first + load(s + 8), 37) * mul;
    y = std::rotr(y + v.second + load(s + 48), 42) * mul;
    x ^= w.second * more;
    y += v.first * more + load(s + 40);
    z = std::rotr(z + w.first, 33) * mul;
    v = absorbed(s, v.second * mul, x + w.first);
    w = absorbed(s + 32, z + w.second, y + load(s + 16));
    std::swap(z, x);
  }
};

}  // namespace

uint64_t fingerprint64(std::string_view bytes) {
  const char* s = bytes.data();
  const uint64_t n = bytes.size();
  if (n <= 16) return hash_to_16(s, n);
  if (n <= 64) return hash_to_64(s, n);
  constexpr uint64_t kSeed = 81;
  Blocks state{.x = kSeed * k2 + load(s), .y = kSeed * k1 + 113, .z = 0, .v = {}, .w = {}};
  state.z = folded(state.y * k2 + 113) * k2;
  const char *const end = s + (n - 1) / 64 * 64, *const last = s + n - 64;
  for (; s != end; s += 64) state.take(s, k1, 1);
  // The last 64 bytes, which may overlap those before.
  const uint64_t mul = k1 + ((state.z & 0xff) << 1);
  state.w.first += (n - 1) & 63;
  state.v.first += state.w.first;
  state.w.first += state.v.first;
  state.take(last, mul, 9);
  const auto& [x, y, z, v, w] = state;
  return mixed(mixed(v.first, w.first, mul) + folded(y) * k0 + z, mixed(v.second, w.second, mul) + x, mul);
}

uint64_t keyed_hash64(std::pair<uint64_t, uint64_t> key, std::string_view bytes) {
  uint64_t v[4] = {key.first ^ 0x736f6d6570736575, key.second ^ 0x646f72616e646f6d, key.first ^ 0x6c7967656e657261,
                   key.second ^ 0x7465646279746573};
  const auto rounds = [&](int count) {
    for (; count > 0; --count) {
      v[0] += v[1];
      v[1] = std::rotl(v[1], 13) ^ v[0];
      v[0] = std::rotl(v[0], 32);
      v[2] += v[3];
      v[3] = std::rotl(v[3], 16) ^ v[2];
      v[0] += v[3];
      v[3] = std::rotl(v[3], 21) ^ v[0];
      v[2] += v[1];
      v[1] = std::rotl(v[1], 17) ^ v[2];
      v[2] = std::rotl(v[2], 32);
    }
  };
  const auto take = [&](uint64_t word) {
    v[3] ^= word;
    rounds(2);
    v[0] ^= word;
  };
  size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) take(load(bytes.data() + at));
  uint64_t rest = uint64_t{bytes.size()} << 56;
  std::memcpy(&rest, bytes.data() + at, bytes.size() - at);
  take(rest);
  v[2] ^= 0xff;
  rounds(4);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}

namespace {

void check_output_mode(const char* owner, const std::string& mode) {
  const std::vector<std::string_view> known{"int", "one_hot", "multi_hot", "count"};
  if (std::find(known.begin(), known.end(), mode) == known.end())
    fail<ValueError>(owner, "unknown output_mode \"{}\"{}", mode, did_you_mean(mode, known));
}

// Indices as they are, or as vectors of `width`.
Tensor in_mode(std::vector<int64_t> indices, const Shape& shape, int64_t width, const std::string& mode) {
  const Tensor ids = Tensor::from_buffer(std::move(indices), shape);
  return mode == "int" ? ids : CategoryEncoding(width, {.output_mode = mode})(ids).eval();
}

std::vector<int64_t> integers_of(const char* owner, const Tensor& integers) {
  if (!is_integral(integers.dtype())) fail<DTypeError>(owner, "needs integers, got {}", integers.dtype());
  return cast(integers, DType::int64).to_vector<int64_t>();
}

}  // namespace

Hashing::Hashing(int64_t num_bins, HashingOptions options) : num_bins_(num_bins), options_(std::move(options)) {
  const int64_t least = options_.mask_value ? 2 : 1;
  if (num_bins < least) fail<ValueError>("Hashing", "num_bins must be at least {}, got {}", least, num_bins);
  check_output_mode("Hashing", options_.output_mode);
}

int64_t Hashing::bin(const std::string& value) const {
  const int64_t masked = options_.mask_value ? 1 : 0;
  if (masked && value == *options_.mask_value) return 0;
  const uint64_t hash = options_.salt ? keyed_hash64(*options_.salt, value) : fingerprint64(value);
  return masked + static_cast<int64_t>(hash % static_cast<uint64_t>(num_bins_ - masked));
}

Tensor Hashing::operator()(const StringColumn& values) const {
  std::vector<int64_t> bins;
  for (const std::string& value : values.values()) bins.push_back(bin(value));
  return in_mode(std::move(bins), values.shape(), num_bins_, options_.output_mode);
}

Tensor Hashing::operator()(const Tensor& integers) const {
  std::vector<int64_t> bins;
  for (const int64_t number : integers_of("Hashing", integers)) bins.push_back(bin(std::to_string(number)));
  return in_mode(std::move(bins), integers.shape(), num_bins_, options_.output_mode);
}

IntegerLookup::IntegerLookup(IntegerLookupOptions options) : options_(std::move(options)) {
  check_output_mode("IntegerLookup", options_.output_mode);
  if (options_.num_oov_indices < 0)
    fail<ValueError>("IntegerLookup", "num_oov_indices must not be negative, got {}", options_.num_oov_indices);
  if (options_.max_tokens < 0 || (options_.max_tokens && options_.max_tokens <= specials()))
    fail<ValueError>("IntegerLookup", "max_tokens must leave room beside {} special ones, got {}", specials(),
                     options_.max_tokens);
  set_vocabulary(options_.vocabulary);
}

void IntegerLookup::set_vocabulary(std::vector<int64_t> numbers) {
  places_.clear();
  for (const int64_t number : numbers)
    if (!places_.emplace(number, specials() + static_cast<int64_t>(places_.size())).second)
      fail<ValueError>("IntegerLookup", "the vocabulary names {} twice", number);
  options_.vocabulary = std::move(numbers);
  if (options_.max_tokens && vocabulary_size() > options_.max_tokens)
    fail<ValueError>("IntegerLookup", "the vocabulary has {} tokens, max_tokens is {}", vocabulary_size(),
                     options_.max_tokens);
}

void IntegerLookup::adapt(const Tensor& integers) {
  std::map<int64_t, int64_t> counts;
  for (const int64_t number : integers_of("IntegerLookup", integers))
    if (number != options_.mask_token) ++counts[number];
  std::vector<std::pair<int64_t, int64_t>> all(counts.begin(), counts.end());
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first > b.first;
  });
  if (options_.max_tokens) all.resize(std::min(all.size(), static_cast<size_t>(options_.max_tokens - specials())));
  std::vector<int64_t> numbers;
  for (const auto& [number, count] : all) numbers.push_back(number);
  set_vocabulary(std::move(numbers));
}

int64_t IntegerLookup::index(int64_t number) const {
  if (options_.vocabulary.empty())
    fail<StateError>("IntegerLookup", "there is no vocabulary yet: give .vocabulary or call adapt(data)");
  if (number == options_.mask_token) return 0;
  if (const auto found = places_.find(number); found != places_.end()) return found->second;
  const int64_t oov = options_.num_oov_indices;
  if (oov == 0) fail<ValueError>("IntegerLookup", "{} is not in the vocabulary, and num_oov_indices is 0", number);
  return (options_.mask_token ? 1 : 0) + ((number % oov) + oov) % oov;
}

Tensor IntegerLookup::operator()(const Tensor& integers) const {
  std::vector<int64_t> indices;
  for (const int64_t number : integers_of("IntegerLookup", integers)) indices.push_back(index(number));
  return in_mode(std::move(indices), integers.shape(), vocabulary_size(), options_.output_mode);
}

}  // namespace isochron
