// A stream over the elements of several files, one after the other.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "isochron/data/source.h"

namespace isochron::data {

class FileStream : public StreamSource {
 public:
  using Open = std::function<std::unique_ptr<StreamReader>(const std::string& path)>;
  // `what` for plans: "tfrecord"; `details` is part of the fingerprint.
  FileStream(std::string what, std::vector<std::string> paths, Open open_file, std::string details = {});
  std::unique_ptr<StreamReader> open() const override;
  std::string describe() const override;
  std::string fingerprint() const override;

 private:
  std::string what_, details_;
  std::vector<std::string> paths_;
  Open open_file_;
};

// "tfrecord(train.tfrecord and 7 more)".
std::string describe_files(const std::string& what, const std::vector<std::string>& paths);

}  // namespace isochron::data
