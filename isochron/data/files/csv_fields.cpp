#include "isochron/data/files/csv_fields.h"

#include "isochron/data/files/csv_number.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "isochron/data/files/csv_fields.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace isochron::data::csv_file::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::CappedTag<uint8_t, 32> u8{};

// Bit i: whether `is` holds for byte i of the 64 at `text`.
template <class Is>
HWY_INLINE uint64_t bits_of_64(const char* text, const Is& is) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text);
  uint64_t all = 0;
#if HWY_TARGET == HWY_SCALAR
  for (size_t i = 0; i < 64; ++i) {
    uint8_t bit = 0;
    hn::StoreMaskBits(u8, is(hn::LoadU(u8, bytes + i)), &bit);
    all |= uint64_t{bit} << i;
  }
#else
  for (size_t i = 0; i < 64; i += hn::Lanes(u8)) {
    uint64_t some = 0;
    hn::StoreMaskBits(u8, is(hn::LoadU(u8, bytes + i)), reinterpret_cast<uint8_t*>(&some));
    all |= some << i;
  }
#endif
  return all;
}

HWY_INLINE uint64_t below(size_t count) { return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1; }

Survey survey_text(const char* text, size_t size) {
  const auto newline = hn::Set(u8, '\n'), carriage = hn::Set(u8, '\r'), quote = hn::Set(u8, '"');
  const auto bits = [&](size_t i, auto what) HWY_ATTR {
    return below(size - i) & bits_of_64(text + i, [&](auto v) HWY_ATTR { return hn::Eq(v, what); });
  };
  Survey out;
  uint64_t quotes = 0, carriages = 0;
  for (size_t i = 0; i < size; i += 64) {
    out.row_ends += static_cast<size_t>(std::popcount(bits(i, newline)));
    quotes |= bits(i, quote);
    carriages |= bits(i, carriage);
  }
  out.quotes = quotes != 0;
  uint64_t before = 0;  // whether the last byte was a carriage return
  for (size_t i = 0; carriages && i < size; i += 64) {
    const uint64_t here = bits(i, carriage);
    out.row_ends += static_cast<size_t>(std::popcount(here));
    out.row_ends -= static_cast<size_t>(std::popcount(bits(i, newline) & (here << 1 | before)));
    before = here >> 63;
  }
  return out;
}

Ends ends_in(const char* text, size_t size, char delimiter, uint32_t* fields, uint32_t* rows) {
  const auto newline = hn::Set(u8, '\n'), carriage = hn::Set(u8, '\r'), quote = hn::Set(u8, '"');
  const auto comma = hn::Set(u8, static_cast<uint8_t>(delimiter));
  uint32_t *to = fields, *row = rows;
  for (size_t i = 0; i < size; i += 64) {
    uint64_t here = below(size - i);
    const uint64_t quotes = here & bits_of_64(text + i, [&](auto v) HWY_ATTR { return hn::Eq(v, quote); });
    if (quotes) here &= (quotes - 1) & ~quotes;  // what lies in front of the first
    uint64_t row_bits =
        here & bits_of_64(text + i, [&](auto v) HWY_ATTR { return hn::Or(hn::Eq(v, newline), hn::Eq(v, carriage)); });
    uint64_t bits = row_bits | (here & bits_of_64(text + i, [&](auto v) HWY_ATTR { return hn::Eq(v, comma); }));
    for (; row_bits; row_bits &= row_bits - 1)
      *row++ = static_cast<uint32_t>(to - fields + std::popcount(bits & ((row_bits & -row_bits) - 1)));
    // Eight at a time, more than there may be: a branch for each end would often be guessed wrong. The last bit keeps
    // the compiler from making those branches itself, for when there are no more.
    constexpr uint64_t kLast = uint64_t{1} << 63;
    uint32_t* const next = to + std::popcount(bits);
    const auto base = static_cast<uint32_t>(i);
    while (bits) {
      for (int k = 0; k < 8; ++k) {
        to[k] = base + static_cast<uint32_t>(std::countr_zero(bits | kLast));
        bits &= bits - 1;
      }
      to += 8;
    }
    to = next;
    if (quotes) break;
  }
  return {static_cast<size_t>(to - fields), static_cast<size_t>(row - rows)};
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

constexpr hn::FixedTag<uint64_t, 4> u64{};
constexpr hn::FixedTag<double, 4> f64{};
constexpr hn::FixedTag<uint32_t, 4> u32{};
constexpr hn::FixedTag<int32_t, 4> i32{};
constexpr hn::Repartition<uint8_t, decltype(u64)> bytes{};
using U64 = hn::Vec<decltype(u64)>;

HWY_INLINE U64 every_byte(uint8_t byte) { return hn::Set(u64, byte * 0x0101010101010101u); }
HWY_INLINE U64 bytes_equal(U64 a, U64 b) {
  return hn::BitCast(u64, hn::VecFromMask(bytes, hn::Eq(hn::BitCast(bytes, a), hn::BitCast(bytes, b))));
}
HWY_INLINE U64 smaller_bytes(U64 a, U64 b) {
  return hn::BitCast(u64, hn::Min(hn::BitCast(bytes, a), hn::BitCast(bytes, b)));
}
// Ones where a lane is zero.
HWY_INLINE U64 is_zero(U64 a) { return hn::VecFromMask(u64, hn::Eq(a, hn::Zero(u64))); }
HWY_INLINE U64 sum_of_bytes(U64 a) { return hn::SumsOf8(hn::BitCast(bytes, a)); }

// Bytes in front of the first of `points` move up by one, over it; all do when there is none.
HWY_INLINE U64 without_first(U64 digits, U64 points) {
  const U64 in_front = hn::AndNot(points, hn::Sub(points, hn::Set(u64, 1)));
  const U64 moved = hn::ShiftLeft<8>(in_front);
  return hn::Or(hn::AndNot(hn::Or(moved, hn::Set(u64, 0xFF)), digits), hn::And(hn::ShiftLeft<8>(digits), moved));
}

// Eight digits, the first one in the lowest byte.
HWY_INLINE U64 number_of(U64 digits) {
  const hn::Repartition<uint16_t, decltype(u64)> u16;
  const hn::Repartition<int16_t, decltype(u64)> i16;
  const hn::Repartition<int32_t, decltype(u64)> sums;
  // (a + 256 b) (1 + 10 * 256) / 256 = 10 a + b
  const auto pairs = hn::ShiftRight<8>(hn::Mul(hn::BitCast(u16, digits), hn::Set(u16, 2561)));
  auto none = hn::Zero(sums);
  const auto weights = hn::BitCast(i16, hn::Set(sums, 100 | 1 << 16));
  const U64 fours =
      hn::BitCast(u64, hn::ReorderWidenMulAccumulate(sums, hn::BitCast(i16, pairs), weights, hn::Zero(sums), none));
  const hn::Repartition<uint32_t, decltype(u64)> halves;
  return hn::Add(hn::MulEven(hn::BitCast(halves, fours), hn::Set(halves, 10000)), hn::ShiftRight<32>(fours));
}

// By the digits behind the point, and 1; 0: there is no point.
alignas(64) constexpr double kScales[32] = {1e0,  1e0,  1e-1,  1e-2,  1e-3,  1e-4,  1e-5,  1e-6, 1e-7,
                                            1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15};

using F64 = hn::Vec<decltype(f64)>;
HWY_INLINE F64 as_real(U64 number) {
  const F64 magic = hn::Set(f64, 4503599627370496.0);  // 2^52: its last bits are the number
  return hn::Sub(hn::BitCast(f64, hn::Or(number, hn::BitCast(u64, magic))), magic);
}

// What fields are multiplied with, by where their points are: mostly as in those before.
struct Scale {
  U64 behind;  // digits behind the point, and 1; 0: there is no point
  F64 factor;
  HWY_INLINE F64 of(U64 fresh) {
    if (!hn::AllTrue(u64, hn::Eq(fresh, behind))) {
      behind = fresh;
      const hn::RebindToSigned<decltype(u64)> i64;
      factor = hn::GatherIndex(f64, kScales, hn::BitCast(i64, hn::And(fresh, hn::Set(u64, 31))));
    }
    return factor;
  }
};

// Four fields at once, each 16 bytes that end with it: `head` and `tail`. Digits with at most one point, perhaps a
// minus in front. Returns how many of them, from the first on, are like that and leave no doubt about their last bit.
HWY_INLINE size_t take_four(const char* text, const uint32_t* starts, const uint32_t* ends, Scale& scale, float* out) {
  const auto load = [&](size_t i) HWY_ATTR {
    return hn::LoadU(hn::FixedTag<uint8_t, 16>(), reinterpret_cast<const uint8_t*>(text) + ends[i] - 16);
  };
  const U64 even = hn::BitCast(u64, hn::Combine(bytes, load(2), load(0)));
  const U64 odd = hn::BitCast(u64, hn::Combine(bytes, load(3), load(1)));
  U64 head = hn::InterleaveLower(u64, even, odd), tail = hn::InterleaveUpper(u64, even, odd);

  const auto length = hn::Sub(hn::LoadU(u32, ends), hn::LoadU(u32, starts));
  const auto bits = hn::BitCast(i32, hn::ShiftLeft<3>(length));
  const auto outside = hn::Max(hn::Sub(hn::Set(i32, 64), bits), hn::Zero(i32));  // of `tail`
  // Shifts by 64 and more leave nothing on these CPUs.
  const U64 ones = hn::Set(u64, ~uint64_t{0});
  const U64 in_tail = hn::Shl(ones, hn::PromoteTo(u64, hn::BitCast(u32, outside)));
  const U64 in_head = hn::Shl(ones, hn::PromoteTo(u64, hn::BitCast(u32, hn::Sub(hn::Set(i32, 128), bits))));
  head = hn::And(hn::Xor(head, every_byte('0')), in_head);
  tail = hn::And(hn::Xor(tail, every_byte('0')), in_tail);

  // A minus counts only in the first byte.
  const U64 first_in_head = hn::Xor(in_head, hn::ShiftLeft<8>(in_head));
  const U64 first_in_tail = hn::Xor(in_tail, hn::Or(hn::ShiftLeft<8>(in_tail), hn::ShiftRight<56>(in_head)));
  const U64 minus_in_head = hn::And(bytes_equal(head, every_byte('-' ^ '0')), first_in_head);
  const U64 minus_in_tail = hn::And(bytes_equal(tail, every_byte('-' ^ '0')), first_in_tail);
  head = hn::AndNot(minus_in_head, head);
  tail = hn::AndNot(minus_in_tail, tail);
  const U64 positive = is_zero(hn::Or(minus_in_head, minus_in_tail));

  // What is neither digit nor the first point is still there behind all this, and no digit.
  const U64 nine = every_byte(9);
  const U64 points = bytes_equal(tail, every_byte('.' ^ '0'));
  U64 no_point = is_zero(points);
  U64 behind = sum_of_bytes(hn::And(points, hn::Set(u64, 0x0102030405060708)));
  U64 moved = without_first(tail, points);
  F64 whole;
  U64 digits;
  if (HWY_LIKELY(hn::AllTrue(u64, hn::Eq(head, hn::Zero(u64))))) {
    tail = hn::IfVecThenElse(no_point, tail, moved);
    digits = bytes_equal(smaller_bytes(tail, nine), tail);
    whole = as_real(number_of(tail));
  } else {
    const U64 points_before = bytes_equal(head, every_byte('.' ^ '0'));
    moved = hn::Or(moved, hn::ShiftRight<56>(head));
    tail = hn::IfVecThenElse(hn::Or(no_point, hn::AndNot(is_zero(points_before), ones)), tail, moved);
    no_point = hn::And(no_point, is_zero(points_before));
    head = hn::IfVecThenElse(no_point, head, without_first(head, points_before));
    behind = hn::Add(behind, sum_of_bytes(hn::And(points_before, hn::Set(u64, 0x090A0B0C0D0E0F10))));
    digits = hn::And(bytes_equal(smaller_bytes(head, nine), head), bytes_equal(smaller_bytes(tail, nine), tail));
    whole = hn::MulAdd(as_real(number_of(head)), hn::Set(f64, 1e8), as_real(number_of(tail)));
  }
  const F64 near = hn::Mul(whole, scale.of(behind));

  const U64 size = hn::PromoteTo(u64, hn::Sub(length, hn::Set(u32, 1)));
  const U64 more_digits = hn::Sub(hn::Sub(size, hn::Set(u64, 2)), hn::Add(positive, no_point));  // than one
  const U64 right_size = is_zero(hn::AndNot(hn::Set(u64, 15), hn::Or(size, more_digits)));
  const hn::RebindToSigned<decltype(u64)> i64;
  const U64 fraction =
      hn::And(hn::Add(hn::BitCast(u64, near), hn::Set(u64, kMargin - kMiddle)), hn::Set(u64, kFraction));
  const auto clear = hn::Gt(hn::BitCast(i64, fraction), hn::Set(i64, 2 * kMargin));
  const U64 good = hn::And(hn::And(digits, right_size), hn::BitCast(u64, hn::VecFromMask(i64, clear)));

  const U64 sign = hn::AndNot(positive, hn::Set(u64, uint64_t{1} << 63));
  const hn::FixedTag<float, 4> f32;
  hn::StoreU(hn::DemoteTo(f32, hn::BitCast(f64, hn::Or(hn::BitCast(u64, near), sign))), f32, out);
  uint8_t all[8] = {};
  hn::StoreMaskBits(bytes, hn::Eq(hn::BitCast(bytes, good), hn::BitCast(bytes, ones)), all);
  uint32_t set;
  std::memcpy(&set, all, 4);
  return static_cast<size_t>(std::countr_one(set)) / 8;
}
#endif

size_t floats(const char* text, const uint32_t* starts, const uint32_t* ends, size_t count, float* out) {
  size_t i = 0;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  Scale scale{hn::Zero(u64), hn::Set(f64, 1.0)};
  for (; i + 4 <= count; i += 4) {
    const size_t good = take_four(text, starts + i, ends + i, scale, out + i);
    if (good < 4) return i + good;
  }
#endif
  for (; i < count; ++i) {
    const char* p = text + starts[i];
    if (!take_number(p, out[i]) || p != text + ends[i]) return i;
  }
  return count;
}

}  // namespace isochron::data::csv_file::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isochron::data::csv_file {

HWY_EXPORT(survey_text);
HWY_EXPORT(ends_in);
HWY_EXPORT(floats);

Survey survey(const char* text, size_t size) { return HWY_DYNAMIC_DISPATCH(survey_text)(text, size); }
Ends find_ends(const char* text, size_t size, char delimiter, uint32_t* fields, uint32_t* rows) {
  return HWY_DYNAMIC_DISPATCH(ends_in)(text, size, delimiter, fields, rows);
}
size_t take_floats(const char* text, const uint32_t* starts, const uint32_t* ends, size_t count, float* out) {
  return HWY_DYNAMIC_DISPATCH(floats)(text, starts, ends, count, out);
}

}  // namespace isochron::data::csv_file
#endif
