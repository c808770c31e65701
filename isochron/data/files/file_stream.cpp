#include "isochron/data/files/file_stream.h"

#include <filesystem>

#include "isochron/data/files/paths.h"

namespace isochron::data {
namespace {

class Reader : public StreamReader {
 public:
  Reader(const std::vector<std::string>& paths, const FileStream::Open& open) : paths_(paths), open_(open) {}

  bool next(Element& out) override {
    for (; file_ < paths_.size(); ++file_, reader_.reset()) {
      if (!reader_) reader_ = open_(paths_[file_]);
      if (reader_->next(out)) return true;
    }
    return false;
  }
  void save(StateWriter& state) const override {
    state.put(static_cast<uint64_t>(file_));
    state.put(reader_ != nullptr);
    if (reader_) reader_->save(state);
  }
  void restore(StateReader& state) override {
    file_ = state.get<uint64_t>();
    if (file_ > paths_.size())
      fail<StateError>("restore", "the place is in file {}, there are {} files", file_ + 1, paths_.size());
    reader_.reset();
    if (!state.get<bool>() || file_ == paths_.size()) return;
    reader_ = open_(paths_[file_]);
    reader_->restore(state);
  }
  std::string file() const override { return file_ < paths_.size() ? paths_[file_] : std::string(); }

 private:
  const std::vector<std::string> paths_;
  const FileStream::Open open_;
  size_t file_ = 0;
  std::unique_ptr<StreamReader> reader_;
};

}  // namespace

std::string describe_files(const std::string& what, const std::vector<std::string>& paths) {
  const std::string first = paths.empty() ? "no files" : std::filesystem::path(paths[0]).filename().string();
  return paths.size() > 1 ? fmt::format("{}({} and {} more)", what, first, paths.size() - 1)
                          : fmt::format("{}({})", what, first);
}

FileStream::FileStream(std::string what, std::vector<std::string> paths, Open open_file, std::string details)
    : what_(std::move(what)),
      details_(std::move(details)),
      paths_(std::move(paths)),
      open_file_(std::move(open_file)) {}

std::unique_ptr<StreamReader> FileStream::open() const { return std::make_unique<Reader>(paths_, open_file_); }
std::string FileStream::describe() const { return describe_files(what_, paths_); }
std::string FileStream::fingerprint() const { return what_ + ":" + details_ + ":" + fingerprint_of_files(paths_); }

}  // namespace isochron::data
