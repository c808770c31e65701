#include "isochron/data/element_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <unordered_map>

#include "isochron/base/cache_folder.h"
#include "isochron/base/crc32c.h"
#include "isochron/base/durable_file.h"
#include "isochron/base/log.h"
#include "isochron/base/memory_info.h"

namespace isochron::data {
namespace {

class MemoryStore : public ElementStore {
 public:
  explicit MemoryStore(int64_t max_bytes) : max_bytes_(max_bytes) {}
  bool load(int64_t i, Element& out) override {
    std::lock_guard lock(mutex_);
    if (i >= static_cast<int64_t>(elements_.size()) || elements_[static_cast<size_t>(i)].empty()) return false;
    out = elements_[static_cast<size_t>(i)];
    return true;
  }
  bool store(int64_t i, const Element& element) override {
    std::lock_guard lock(mutex_);
    if (max_bytes_ < 0) max_bytes_ = available_memory_bytes() / 2;
    const int64_t bytes = element.bytes() + kOverhead;
    if (given_up_ || bytes_ + bytes > max_bytes_) {
      full_ = true;
      return false;
    }
    if (i >= static_cast<int64_t>(elements_.size())) elements_.resize(static_cast<size_t>(i) + 1);
    Element& place = elements_[static_cast<size_t>(i)];
    if (!place.empty()) return true;
    place = element;
    bytes_ += bytes;
    ++count_;
    return true;
  }
  void give_up() override {
    std::lock_guard lock(mutex_);
    if (std::exchange(given_up_, true)) return;
    fitted_ = std::exchange(count_, 0);
    bytes_ = 0;
    elements_ = {};
  }
  void finish(int64_t total) override {
    std::lock_guard lock(mutex_);
    total_ = total;
    complete_ = count_ == total;
  }
  bool complete() const override { return complete_; }
  int64_t count() const override {
    std::lock_guard lock(mutex_);
    return count_;
  }
  int64_t total() const override { return total_; }
  std::string note() const override {
    std::lock_guard lock(mutex_);
    if (given_up_)
      return fmt::format("cache: nothing in memory; {:.1f} MB hold {} elements{}, and a stream is kept whole or not",
                         static_cast<double>(max_bytes_) / 1e6, fitted_, share_of_all(fitted_));
    if (count_ == 0) return "cache: nothing in memory yet";
    return fmt::format("cache: {} elements in memory, {:.1f} MB{}{}", count_, static_cast<double>(bytes_) / 1e6,
                       share_of_all(count_), full_ ? "; no more fit" : "");
  }

 private:
  std::string share_of_all(int64_t count) const {
    if (total_ == 0) return "";
    return fmt::format(", {:.0f} % of all", 100.0 * static_cast<double>(count) / static_cast<double>(total_));
  }
  static constexpr int64_t kOverhead = sizeof(Element);
  mutable std::mutex mutex_;
  int64_t max_bytes_, bytes_ = 0, count_ = 0;
  int64_t fitted_ = 0;  // when it was given up
  std::atomic<int64_t> total_{0};
  std::atomic<bool> complete_{false};
  bool full_ = false, given_up_ = false;
  std::vector<Element> elements_;
};

constexpr char kMagic[8] = {'i', 's', 'o', 'c', 'a', 'c', 'h', '1'};
constexpr char kEnd[8] = {'i', 's', 'o', 'c', 'e', 'n', 'd', '1'};
constexpr size_t kFingerprint = 16;  // hexadecimal digits
constexpr int64_t kHeader = sizeof kMagic + kFingerprint;
struct RecordHead {
  int64_t number;
  uint64_t bytes;
  uint32_t crc, zero;
};
struct Trailer {
  int64_t total;
  uint32_t crc, zero;
  char end[8];
};

class FileStore : public ElementStore {
 public:
  enum class Use { cache, load, save };
  FileStore(std::string path, Use use, const std::string& fingerprint = {})
      : path_(std::move(path)), fingerprint_(hashed(fingerprint)), use_(use) {
    if (path_.empty()) fail<ValueError>(operation(), "the path of the file is empty");
    std::error_code ignored;
    if (std::filesystem::is_directory(path_, ignored))
      fail<FileError>(operation(), "{} is a folder; name a file", path_);
  }
  // Makes it this store's to write.
  void claim() {
    std::lock_guard lock(mutex_);
    open();
    if (busy_)
      fail<FileError>(operation(), "{} is being written already, as {}; wait for the end of it, or choose another name",
                      path_, partial());
  }
  ~FileStore() override {
    if (use_ == Use::save && fd_ >= 0 && !complete_) unlink(partial().c_str());
    if (fd_ >= 0) close(fd_);
  }

  bool load(int64_t i, Element& out) override {
    int64_t offset;
    {
      std::lock_guard lock(mutex_);
      open();
      const auto found = offsets_.find(i);
      if (found == offsets_.end()) return false;
      offset = found->second;
    }
    RecordHead head;
    std::string bytes;
    try {
      read_at(offset, &head, sizeof head);
      bytes.resize(check_size(offset, head.bytes));
      read_at(offset + static_cast<int64_t>(sizeof head), bytes.data(), bytes.size());
      if (head.number != i || crc32c(bytes) != head.crc)
        fail<FileError>(operation(), "{}: the record at offset {} is damaged; delete the file to have it made anew",
                        name(), offset);
    } catch (const FileError&) {
      if (given_up_) return false;  // meanwhile
      throw;
    }
    StateReader reader(bytes);
    out = reader.get_element();
    return true;
  }

  bool store(int64_t i, const Element& element) override {
    if (given_up_) return false;
    StateWriter writer;
    writer.put(element);
    const std::string bytes = writer.take();
    const RecordHead head{i, bytes.size(), crc32c(bytes), 0};
    std::string record(reinterpret_cast<const char*>(&head), sizeof head);
    record += bytes;
    std::lock_guard lock(mutex_);
    return written([&] {
      if (fd_ < 0 || complete_ || offsets_.contains(i)) return;
      write_at(size_, record);
      offsets_[i] = size_;
      size_ += static_cast<int64_t>(record.size());
    });
  }
  void give_up() override {
    std::lock_guard lock(mutex_);
    give_room_back();
  }
  void finish(int64_t total) override {
    std::lock_guard lock(mutex_);
    written([&] { publish(total); });
  }
  bool complete() const override {
    std::lock_guard lock(mutex_);
    auto& self = const_cast<FileStore&>(*this);
    self.busy_ = false;  // by now it may be there
    self.open();
    return complete_;
  }
  int64_t count() const override {
    std::lock_guard lock(mutex_);
    return static_cast<int64_t>(offsets_.size());
  }
  int64_t total() const override { return total_; }
  std::string note() const override {
    std::lock_guard lock(mutex_);
    if (given_up_) return fmt::format("cache: {} could not be written, nothing is kept", path_);
    std::string text = complete_ ? fmt::format("cache: all {} elements in {}", total_.load(), path_)
                                 : fmt::format("cache: {} elements in {} so far", offsets_.size(), partial());
    if (busy_) text = fmt::format("cache: {} is being written by others, nothing is kept here", path_);
    if (stale_) text += "; the file that was there was stale (other data, stages or tag) and is replaced";
    if (resumed_) text += fmt::format("; went on behind {} elements of an interrupted run", resumed_);
    return text;
  }

 private:
  const char* operation() const { return use_ == Use::cache ? "cache" : use_ == Use::load ? "load" : "save"; }
  std::filesystem::path folder() const { return std::filesystem::path(path_).parent_path(); }
  std::string partial() const { return path_ + ".partial"; }
  std::string name() const { return complete_ ? path_ : partial(); }
  [[noreturn]] void fail_with_errno(const char* what) const {
    fail<FileError>(operation(), "can't {} {}: {}", what, name(), std::generic_category().message(errno));
  }
  uint64_t check_size(int64_t offset, uint64_t bytes) const {
    if (bytes > static_cast<uint64_t>(size_ - offset))
      fail<FileError>(operation(), "{}: the record at offset {} claims {} bytes, more than the file has", name(),
                      offset, bytes);
    return bytes;
  }
  void publish(int64_t total) {
    if (fd_ < 0 || complete_ || static_cast<int64_t>(offsets_.size()) != total) return;
    std::string table;
    for (int64_t i = 0; i < total; ++i) {
      const auto found = offsets_.find(i);
      if (found == offsets_.end()) return;
      table.append(reinterpret_cast<const char*>(&found->second), sizeof found->second);
    }
    Trailer trailer{total, crc32c(table), 0, {}};
    std::copy(std::begin(kEnd), std::end(kEnd), trailer.end);
    table.append(reinterpret_cast<const char*>(&trailer), sizeof trailer);
    write_at(size_, table);
    if (fsync(fd_) != 0 || rename(partial().c_str(), path_.c_str()) != 0) fail_with_errno("publish");
    complete_ = true;
    total_ = total;
    sync_folder(folder().string());
  }
  // With the lock held. A cache goes on without its file where that can't be written; false then.
  template <class Write>
  bool written(const Write& write) {
    if (given_up_) return false;
    open();
    try {
      write();
      return true;
    } catch (const FileError& error) {
      if (use_ != Use::cache) throw;
      log_line(
          LogLevel::warning, "cache",
          fmt::format("{}; {} elements of {:.1f} MB were written and are given up, the data are made anew in every "
                      "pass. Free some room or choose another disk.",
                      error.what(), offsets_.size(), static_cast<double>(size_) / 1e6));
      give_room_back();
      return false;
    }
  }
  // The file stays open: other threads may be reading.
  void give_room_back() {
    if (given_up_.exchange(true) || fd_ < 0 || complete_) return;  // once: the name may be another's by now
    unlink(partial().c_str());
    [[maybe_unused]] const int ignored = ftruncate(fd_, 0);
    offsets_.clear();
  }
  bool try_read(int64_t offset, void* to, size_t bytes) const {
    for (auto* place = static_cast<char*>(to); bytes > 0;) {
      const ssize_t got = pread(fd_, place, bytes, offset);
      if (got <= 0) return false;
      place += got;
      offset += got;
      bytes -= static_cast<size_t>(got);
    }
    return true;
  }
  void read_at(int64_t offset, void* to, size_t bytes) const {
    if (!try_read(offset, to, bytes))
      fail<FileError>(operation(), "{}: can't read {} bytes at {}", name(), bytes, offset);
  }
  void write_at(int64_t offset, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = pwrite(fd_, bytes.data(), bytes.size(), offset);
      if (written < 0) fail_with_errno("write");
      bytes.remove_prefix(static_cast<size_t>(written));
      offset += written;
    }
  }

  // With the lock held, once: the finished file, an interrupted one, or a new one. Nothing where another process writes
  // it, or where there is only a finished one to be read.
  void open() {
    if (fd_ >= 0 || busy_ || open_finished() || use_ == Use::load) return;
    std::error_code ignored;
    if (!folder().empty()) std::filesystem::create_directories(folder(), ignored);
    fd_ = ::open(partial().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd_ < 0) fail_with_errno("create");
    if (!lock_partial()) {
      busy_ = true;
      return close_file();
    }
    // Whoever held it may have finished since the first look.
    const int locked = std::exchange(fd_, -1);
    if (open_finished()) {
      unlink(partial().c_str());
      close(locked);
      return;
    }
    fd_ = locked;
    if (is_ours() && use_ == Use::cache && scan_records()) return;
    stale_ = stale_ || size_ > 0;
    if (ftruncate(fd_, 0) != 0) fail_with_errno("empty");
    offsets_.clear();
    write_at(0, std::string(kMagic, sizeof kMagic) + fingerprint_);
    size_ = kHeader;
  }
  bool open_finished() {
    if (use_ == Use::save) return false;
    fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) return false;
    if (is_ours() && read_table()) return true;
    stale_ = true;
    close_file();
    return false;
  }
  // Whoever holds it alone writes the file: another one would write over it, and publish it half done.
  bool lock_partial() const {
    if (flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
    struct stat mine, there;
    return fstat(fd_, &mine) == 0 && stat(partial().c_str(), &there) == 0 && mine.st_ino == there.st_ino;
  }
  void close_file() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
    offsets_.clear();
  }
  bool is_ours() {
    struct stat status;
    if (fstat(fd_, &status) != 0) return false;
    size_ = status.st_size;
    char header[kHeader];
    return try_read(0, header, sizeof header) && std::equal(std::begin(kMagic), std::end(kMagic), header) &&
           (use_ == Use::load || std::string_view(header + sizeof kMagic, kFingerprint) == fingerprint_);
  }
  bool read_table() {
    Trailer trailer;
    const auto room = static_cast<int64_t>(sizeof trailer);
    if (size_ < kHeader + room || !try_read(size_ - room, &trailer, sizeof trailer)) return false;
    if (!std::equal(std::begin(kEnd), std::end(kEnd), trailer.end) || trailer.total < 0 ||
        trailer.total > (size_ - kHeader - room) / 8)
      return false;
    std::string table(static_cast<size_t>(trailer.total) * 8, '\0');
    if (!try_read(size_ - room - trailer.total * 8, table.data(), table.size()) || crc32c(table) != trailer.crc)
      return false;
    for (int64_t i = 0; i < trailer.total; ++i) {
      int64_t offset;
      std::memcpy(&offset, table.data() + i * 8, sizeof offset);
      if (offset < kHeader || offset > size_ - static_cast<int64_t>(sizeof(RecordHead))) return false;
      offsets_[i] = offset;
    }
    complete_ = true;
    total_ = trailer.total;
    return true;
  }
  // Keeps the sound records of an interrupted run.
  bool scan_records() {
    int64_t at = kHeader;
    RecordHead head;
    while (try_read(at, &head, sizeof head)) {
      const auto body = at + static_cast<int64_t>(sizeof head);
      if (head.number < 0 || head.bytes > static_cast<uint64_t>(size_ - body)) break;
      std::string bytes(head.bytes, '\0');
      if (!try_read(body, bytes.data(), bytes.size()) || crc32c(bytes) != head.crc) break;
      offsets_[head.number] = at;
      at = body + static_cast<int64_t>(head.bytes);
    }
    size_ = at;
    resumed_ = static_cast<int64_t>(offsets_.size());
    return ftruncate(fd_, at) == 0;
  }

  const std::string path_, fingerprint_;
  const Use use_;
  mutable std::mutex mutex_;
  int fd_ = -1;
  std::atomic<int64_t> size_{0}, total_{0};
  std::atomic<bool> complete_{false}, given_up_{false};
  bool stale_ = false, busy_ = false;
  int64_t resumed_ = 0;
  std::unordered_map<int64_t, int64_t> offsets_;
};

}  // namespace

std::shared_ptr<ElementStore> memory_store(int64_t max_bytes) { return std::make_shared<MemoryStore>(max_bytes); }
std::shared_ptr<ElementStore> file_store(const std::string& path, const std::string& fingerprint) {
  return std::make_shared<FileStore>(path, FileStore::Use::cache, fingerprint);
}
std::shared_ptr<ElementStore> saved_store(const std::string& path) {
  return std::make_shared<FileStore>(path, FileStore::Use::load);
}
std::shared_ptr<ElementStore> saving_store(const std::string& path) {
  auto store = std::make_shared<FileStore>(path, FileStore::Use::save);
  store->claim();
  return store;
}

}  // namespace isochron::data
