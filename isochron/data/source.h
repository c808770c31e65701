// Where elements come from. Derive from one of two classes, and every stage, cursor and statistic works with it:
//
//   class Records : public IndexedSource {                       // elements by number: shuffles cost nothing
//    public:
//     int64_t size() const override { return count_; }
//     void get(int64_t i, Element& out) const override { out = make_element(decode(i)); }
//     std::string describe() const override { return "records(" + path_ + ")"; }
//   };
//   Dataset dataset = from_source(std::make_shared<Records>("a.bin"));
//
// Use StreamSource only for what can't be reached by number (compressed files, pipes, generators). If an index of the
// elements can be built cheaply (line starts, record offsets), build it lazily and be an IndexedSource.
//
// Contract
// - get() and fill() are called from several threads at once. open() starts one pass; its reader belongs to one thread
//   at a time.
// - Errors in files are FileErrors that name the file and the offset.
// - fingerprint() changes when the data do (path, size and time of change of files): caches on disk depend on it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "isochron/data/element.h"

namespace isochron::data {

inline constexpr int64_t kUnknownSize = -1, kInfinite = -2;
// Behind so many elements no pass without an end goes on: numbers of rows would overflow.
inline constexpr int64_t kFarthestPlace = int64_t{1} << 48;
inline int64_t farthest_place(int64_t size) { return size < 0 ? kFarthestPlace : size; }

class IndexedSource {
 public:
  virtual ~IndexedSource() = default;
  virtual int64_t size() const = 0;
  // Element i of 0 … size() - 1 into `out`, which is empty. Bytes may be shared (a view of a mapped file) as long as
  // the component's owner keeps them alive.
  virtual void get(int64_t i, Element& out) const = 0;
  // The specs of all elements if they are alike, else empty. With specs, batches are assembled by fill().
  virtual std::vector<ComponentSpec> specs() const { return {}; }
  // Where the bytes of element i already lie in memory for as long as this source lives (arrays, mapped files):
  // pointers to them, one a component, and batches are gathered in one pass. false: they do not. Only with specs().
  virtual bool view(int64_t /*i*/, std::span<const std::byte*> /*rows*/) const { return false; }
  // Elements first … first + count - 1 as one batch that shares their bytes: where they lie side by side, batches in
  // the order of the source cost no copy. false: they do not. Only with specs().
  virtual bool slice(int64_t /*first*/, int64_t /*count*/, Element& /*out*/) const { return false; }
  // Writes component c of element i to rows[c], whose size follows from specs(): decoders write straight into the
  // batch. Only for arrays. By default get() and a copy.
  virtual void fill(int64_t i, std::span<std::byte* const> rows) const;
  virtual Names names() const { return nullptr; }
  // True: get() costs next to nothing and never waits, so that a consumer may call it instead of waiting for a thread.
  virtual bool in_memory() const { return false; }
  // For plans and reports: "csv(train.csv)".
  virtual std::string describe() const = 0;
  virtual std::string fingerprint() const { return describe(); }
  // A checksum of the elements where they come from no file but from the program's memory. Looks at all of them: only
  // caches on disk ask for it.
  virtual std::string contents() const { return {}; }
  // The file element i lies in, for errors; empty where there is none.
  virtual std::string file_of(int64_t /*i*/) const { return {}; }
  // A line for reports, if there is something to tell: what opening its files took, say.
  virtual std::string note() const { return {}; }
};

class StreamReader {
 public:
  virtual ~StreamReader() = default;
  // The next element into `out`, which is empty; false at the end. After an exception the next call goes on behind the
  // element that failed, or fails again where that is impossible.
  virtual bool next(Element& out) = 0;
  // The position before the next element; restore() goes there with bounded work (seek, not read).
  virtual void save(StateWriter& state) const = 0;
  virtual void restore(StateReader& state) = 0;
  virtual std::string file() const { return {}; }
};

class StreamSource {
 public:
  virtual ~StreamSource() = default;
  virtual std::unique_ptr<StreamReader> open() const = 0;
  virtual int64_t size() const { return kUnknownSize; }
  virtual std::string describe() const = 0;
  virtual std::string fingerprint() const { return describe(); }
};

}  // namespace isochron::data
