// Stages that only calculate with numbers: element i of this is element j of that.
#pragma once

#include "isochron/data/stage.h"

namespace isochron::data {

class IndexMap : public Indexed {
 public:
  explicit IndexMap(std::unique_ptr<Indexed> below) : below_(std::move(below)) {}
  // Element `index` of this pass is element `index` of pass `epoch` below.
  virtual void map(int64_t& index, uint64_t& epoch) const = 0;

  void get(int64_t index, uint64_t epoch, Worker& worker, Element& out) override {
    map(index, epoch);
    below_->get(index, epoch, worker, out);
  }
  bool view(int64_t index, uint64_t epoch, std::span<const std::byte*> rows) override {
    map(index, epoch);
    return below_->view(index, epoch, rows);
  }
  bool fill(int64_t index, uint64_t epoch, Worker& worker, std::span<std::byte* const> rows) override {
    map(index, epoch);
    return below_->fill(index, epoch, worker, rows);
  }
  int64_t parts(int64_t index, uint64_t epoch) override {
    map(index, epoch);
    return below_->parts(index, epoch);
  }
  void prepare(int64_t index, uint64_t epoch, Assembly& assembly) override {
    map(index, epoch);
    below_->prepare(index, epoch, assembly);
  }
  void make(int64_t index, uint64_t epoch, int64_t first, int64_t last, Worker& worker, Assembly& assembly) override {
    map(index, epoch);
    below_->make(index, epoch, first, last, worker, assembly);
  }
  void complete(int64_t index, uint64_t epoch, Worker& worker, Assembly& assembly, Element& out) override {
    map(index, epoch);
    below_->complete(index, epoch, worker, assembly, out);
  }

 protected:
  std::unique_ptr<Indexed> below_;
};

}  // namespace isochron::data
