#include <mutex>

#include "isochron/data/run_ahead.h"
#include "isochron/data/stages.h"
#include "isochron/ops/random_key.h"

namespace isochron::data {
namespace {

class MapStage : public StageOf<MapStage> {
 public:
  MapStage(StagePtr input, MapFunction f, std::string code, MapOptions options)
      : StageOf({std::move(input)}), f_(std::move(f)), code_(std::move(code)), options_(std::move(options)) {
    if (options_.num_parallel_calls == 0 || options_.num_parallel_calls < AUTOTUNE)
      fail<ValueError>("map", "num_parallel_calls must be AUTOTUNE or at least 1, got {}", options_.num_parallel_calls);
  }
  std::string describe() const override {
    const int64_t calls = options_.num_parallel_calls;
    const std::string threads = calls == 1 ? "" : calls < 0 ? "parallel" : fmt::format("{} in parallel", calls);
    return fmt::format("map({}{}{})", options_.name, options_.name.empty() || threads.empty() ? "" : ", ", threads);
  }
  std::string fingerprint() const override { return "map:" + options_.name + ":" + code_; }
  std::vector<ComponentSpec> specs() const override { return {}; }
  Names names() const override { return nullptr; }
  bool is_indexed() const override { return inputs_indexed(); }
  bool serial() const override { return options_.num_parallel_calls == 1; }
  bool has_user_code() const override { return true; }
  int threads_wanted() const override {
    return options_.num_parallel_calls == 1 ? 0 : static_cast<int>(options_.num_parallel_calls);
  }
  bool ordered() const override { return options_.deterministic; }
  std::unique_ptr<Indexed> indexed(Run& run) const override;
  std::unique_ptr<Stream> stream(Run& run) const override;

  const MapFunction& function() const { return f_; }
  uint64_t seed() const { return seed_; }

 private:
  MapFunction f_;
  std::string code_;
  MapOptions options_;
  uint64_t seed_ = get_seed();
};

class MapIndexed : public Indexed {
 public:
  MapIndexed(std::unique_ptr<Indexed> below, const MapStage& stage, bool one_thread, StageId id)
      : below_(std::move(below)),
        f_(stage.function()),
        locks_(stage.serial() && !one_thread),
        seed_(stage.seed()),
        id_(id) {}
  int64_t size() const override { return below_->size(); }
  void get(int64_t index, uint64_t epoch, Worker& worker, Element& out) override {
    Element in;
    below_->get(index, epoch, worker, in);
    apply(in, index, epoch, worker, out);
  }
  int64_t parts(int64_t index, uint64_t epoch) override { return below_->parts(index, epoch); }
  void prepare(int64_t index, uint64_t epoch, Assembly& assembly) override { below_->prepare(index, epoch, assembly); }
  void make(int64_t index, uint64_t epoch, int64_t first, int64_t last, Worker& worker, Assembly& assembly) override {
    below_->make(index, epoch, first, last, worker, assembly);
  }
  void complete(int64_t index, uint64_t epoch, Worker& worker, Assembly& assembly, Element& out) override {
    Element in;
    below_->complete(index, epoch, worker, assembly, in);
    apply(in, index, epoch, worker, out);
  }

 private:
  void apply(const Element& in, int64_t index, uint64_t epoch, Worker& worker, Element& out) {
    std::unique_lock<std::mutex> lock;
    if (locks_) lock = std::unique_lock(mutex_);
    UserCode code(worker, id_, index, epoch);
    out.become([&] { return f_(in, {epoch, index, element_seed(seed_, epoch, index)}); });
    code.made(out);
  }
  std::unique_ptr<Indexed> below_;
  MapFunction f_;
  const bool locks_;
  const uint64_t seed_;
  const StageId id_;
  std::mutex mutex_;
};

class MapStream : public Stream {
 public:
  MapStream(std::unique_ptr<Stream> below, const MapStage& stage, StageId id)
      : below_(std::move(below)), f_(stage.function()), seed_(stage.seed()), id_(id) {}
  void begin(uint64_t epoch) override {
    below_->begin(epoch);
    context_ = {.epoch = epoch, .index = 0};
  }
  bool next(Worker& worker, Element& out) override {
    Element in;
    if (!below_->next(worker, in)) return false;
    ElementContext context = context_;
    context.random_seed = element_seed(seed_, context.epoch, context.index);
    ++context_.index;
    UserCode code(worker, id_, context.index, context.epoch);
    out.become([&] { return f_(in, context); });
    code.made(out);
    return true;
  }
  void save(StateWriter& state) override {
    state.put(context_);
    below_->save(state);
  }
  void restore(StateReader& state) override {
    context_ = get_context(state);
    below_->restore(state);
  }

 private:
  std::unique_ptr<Stream> below_;
  MapFunction f_;
  const uint64_t seed_;
  const StageId id_;
  ElementContext context_;
};

std::unique_ptr<Indexed> MapStage::indexed(Run& run) const {
  auto below = run.indexed(inputs()[0]);
  return std::make_unique<MapIndexed>(std::move(below), *this, run.one_thread(), run.add(*this));
}
std::unique_ptr<Stream> MapStage::stream(Run& run) const {
  auto below = run.stream(inputs()[0]);
  const StageId id = run.add(*this);
  if (serial()) return std::make_unique<MapStream>(std::move(below), *this, id);
  const auto call = [f = f_, seed = seed_, id](const Element& in, const ElementContext& at, Worker& worker) {
    UserCode code(worker, id, at.index, at.epoch);
    Element out = f(in, {at.epoch, at.index, element_seed(seed, at.epoch, at.index)});
    code.made(out);
    return out;
  };
  return run_ahead(run, std::move(below), call,
                   {.name = describe(),
                    .max_threads = threads_wanted() < 0 ? kMostThreads : threads_wanted(),
                    .ordered = options_.deterministic,
                    .user_code = true,
                    .next_pass = !run.nested()});
}

}  // namespace

StagePtr map_stage(StagePtr input, MapFunction f, std::string code, MapOptions options) {
  return std::make_shared<MapStage>(std::move(input), std::move(f), std::move(code), std::move(options));
}

}  // namespace isochron::data
