// Rows put together into batches: one pass from where a row lies to its place in the batch, converted on the way.
#pragma once

#include <algorithm>
#include <mutex>
#include <span>
#include <vector>

#include "isochron/data/conversion.h"
#include "isochron/data/run.h"
#include "isochron/data/stage.h"

namespace isochron::data {

// The buffers of one batch. After start(), different rows may be set from different threads.
class BatchBuffers {
 public:
  // Room for `rows` rows like `first`. Buffers are aligned and recycled.
  void start(int64_t rows, const std::vector<TensorSpec>& specs, const std::vector<bool>& texts, Names names,
             const Conversions* conversions);
  void start(int64_t rows, const Element& first, const Conversions* conversions);
  bool started() const { return !columns_.empty(); }
  bool fits(const Element& element) const;
  // ShapeError when `element` is not like the first one.
  void set(int64_t row, const Element& element);
  void set(int64_t row, std::span<const std::byte* const> bytes);
  std::byte* place(int64_t row, size_t column) {
    return columns_[column].bytes.data() + row * columns_[column].target_bytes;
  }
  bool converts() const { return converts_; }
  // A row that was set, sharing its bytes. Only of arrays that are not converted.
  Element row(int64_t row) const;
  // The batch, cut to `rows`; empties this.
  Element finish(int64_t rows);

 private:
  struct Column {
    TensorSpec spec;  // of a row as it comes
    Conversion conversion;
    int64_t target_bytes = 0;  // of a row in the batch
    bool copied = false;       // as it is
    Storage bytes;
    bool text = false;
    Strings texts;
  };
  std::vector<Column> columns_;
  Names names_;
  int64_t rows_ = 0;
  bool converts_ = false;
};

// A batch in the making.
struct Assembly {
  BatchBuffers buffers;       // where the specs of rows are known, or guessed, before the first one
  std::vector<Element> rows;  // where they are not
  Element whole;              // where it lies in one piece already
  bool guessed = false;
  std::mutex odd_mutex;
  std::vector<std::pair<int64_t, Element>> odd;  // rows that are not as guessed
};

// Batches of an indexed input; parts of one batch may be assembled by different threads.
class BatchIndexed : public Indexed {
 public:
  BatchIndexed(std::unique_ptr<Indexed> below, const Stage& input, int64_t size, bool drop_remainder,
               Conversions conversions, int id);
  int64_t size() const override { return batches_; }
  void get(int64_t index, uint64_t epoch, Worker& worker, Element& out) override;
  int64_t parts(int64_t index, uint64_t) override { return rows_of(index); }
  void prepare(int64_t index, uint64_t epoch, Assembly& assembly) override;
  void make(int64_t index, uint64_t epoch, int64_t first, int64_t last, Worker& worker, Assembly& assembly) override;
  void complete(int64_t index, uint64_t epoch, Worker& worker, Assembly& assembly, Element& out) override;

 private:
  bool slice(int64_t index, Element& out);
  int64_t rows_of(int64_t batch) const { return rows_ < 0 ? size_ : std::min(size_, rows_ - batch * size_); }
  std::unique_ptr<Indexed> below_;
  const int64_t size_, rows_;
  int64_t batches_;
  const Conversions conversions_;
  const bool converts_;
  const int id_;
  std::vector<TensorSpec> row_specs_;  // empty: unknown before the first element
  Names names_;
  // Where specs are unknown: a batch is expected to be like the one before, so that its rows go straight to their
  // places. Rows that are not like that are put aside until it is complete.
  void expect_like(const Element& row);
  void take_back_guess(Assembly& assembly, int64_t rows) const;
  std::mutex guess_mutex_;
  std::vector<TensorSpec> guess_;
  Names guessed_names_;
};

// `size` elements a batch.
StagePtr batch_stage(StagePtr input, int64_t size, bool drop_remainder, Conversions conversions = {});

}  // namespace isochron::data
