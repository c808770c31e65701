// The stages by name, for dataset.cpp; semantics in dataset.h.
#pragma once

#include "isochron/data/dataset.h"

namespace isochron::data {

StagePtr map_stage(StagePtr input, MapFunction f, std::string code, MapOptions options);
StagePtr shuffle_stage(StagePtr input, int64_t buffer_size, const ShuffleOptions& options);
// threads: 0: as many as help where nothing forbids it.
StagePtr prefetch_stage(StagePtr input, int64_t buffer_size, int threads = 0);
StagePtr cast_stage(StagePtr input, const CastOptions& options);
StagePtr take_stage(StagePtr input, int64_t count);
StagePtr skip_stage(StagePtr input, int64_t count);
StagePtr shard_stage(StagePtr input, int64_t shards, int64_t index);
StagePtr repeat_stage(StagePtr input, int64_t count);
StagePtr concatenate_stage(StagePtr first, StagePtr second);
StagePtr zip_stage(std::vector<StagePtr> inputs);
StagePtr collate_stage(StagePtr input, int64_t size, bool drop_remainder, Collate collate);
StagePtr padded_batch_stage(StagePtr input, int64_t size, PaddedBatchOptions options);
StagePtr bucket_stage(StagePtr input, KeyFunction length, std::string code, std::vector<int64_t> boundaries,
                      std::vector<int64_t> batch_sizes, BucketOptions options);
StagePtr window_stage(StagePtr input, int64_t size, const WindowOptions& options);
StagePtr filter_stage(StagePtr input, std::function<bool(const Element&)> keep, std::string code);
StagePtr scan_stage(StagePtr input, Element initial, ScanFunction f, std::string code);
StagePtr unbatch_stage(StagePtr input);
StagePtr ignore_errors_stage(StagePtr input, int64_t limit);
StagePtr retry_stage(StagePtr input, RetryOptions options);
StagePtr flat_map_stage(StagePtr input, DatasetFunction f, std::string code);
StagePtr interleave_stage(StagePtr input, DatasetFunction f, std::string code, InterleaveOptions options);
StagePtr group_by_window_stage(StagePtr input, KeyFunction key, ReduceFunction reduce, int64_t window,
                               std::string code);

// Elements of one stream have the same components: as many, of one type and name each. Refuses inputs that are known
// not to agree; shapes may differ.
void check_alike(const char* where, const std::vector<StagePtr>& inputs);
// Where all inputs have the same specs: those, else none.
std::vector<ComponentSpec> common_specs(const std::vector<StagePtr>& inputs);

// Weights are finite, none is below 0, and one is above.
void check_weights(const char* where, const std::vector<double>& weights);

}  // namespace isochron::data
