// Which variant of a kernel is the quickest on this machine: learnt by trials (exec/kernel_trial), kept for the next
// process.
//
//   KernelChoices& choices = KernelChoices::global();
//   choices.find("matmul gemm …");           // none: nobody tried it here
//   choices.learn("matmul gemm …", 2);       // in the file when the process ends
//
// One small file for each kind of CPU under cache_folder(): written whole or not at all, bounded, safe to delete. A
// file of another version counts as none. Safe to call from several threads.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace isochron {

class KernelChoices {
 public:
  // Of this machine; saved when the process ends.
  static KernelChoices& global();
  // Reads the file, if there is one. An empty path: nothing is kept.
  explicit KernelChoices(std::string path);

  std::optional<int> find(const std::string& key);
  // Makes room for what a trial will find, so that learning allocates nothing.
  void expect(const std::string& key);
  void learn(const std::string& key, int variant);
  // Adds what was learnt to the file. What can't be written is lost without a word: the next process tries again.
  void save();

  // "2 known from earlier processes, 1 learnt in this one, 1 not tried yet (the file has no such kernels)".
  std::string report() const;

 private:
  struct Entry {
    int variant = -1;     // -1: expected
    bool learnt = false;  // by this process
  };
  void read(std::string& why_none, std::map<std::string, Entry>& into) const;

  std::string path_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  std::string why_missing_;
  int64_t known_ = 0;  // found in the file, and asked for
};

}  // namespace isochron
