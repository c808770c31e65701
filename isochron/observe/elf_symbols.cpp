#include "isochron/observe/elf_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>

#include "isochron/observe/proc_text.h"

namespace isochron::observe {
namespace {

// A file mapped read-only into our own memory.
class FileView {
 public:
  explicit FileView(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    struct stat info {};
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
      void* memory = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
      if (memory != MAP_FAILED) bytes_ = {static_cast<const char*>(memory), static_cast<size_t>(info.st_size)};
    }
    close(fd);
  }
  ~FileView() {
    if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
  FileView(const FileView&) = delete;
  FileView& operator=(const FileView&) = delete;

  // `count` objects at `offset`, or an empty span when they do not lie inside the file.
  template <class T>
  std::span<const T> at(uint64_t offset, uint64_t count) const {
    if (offset > bytes_.size() || count > (bytes_.size() - offset) / sizeof(T) || offset % alignof(T) != 0) return {};
    return {reinterpret_cast<const T*>(bytes_.data() + offset), count};
  }
  std::string_view text(uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    const char* begin = bytes_.data() + offset;
    return {begin, strnlen(begin, bytes_.size() - offset)};
  }

 private:
  std::span<const char> bytes_;
};

}  // namespace

std::vector<MappedFile> parse_mapped_files(std::string_view maps) {
  std::vector<MappedFile> files;
  std::map<std::string_view, bool> seen;
  while (!maps.empty()) {
    const std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(line.size() + 1, maps.size()));
    const size_t slash = line.find('/');
    if (slash == std::string_view::npos || seen[line.substr(slash)]) continue;
    unsigned long long start = 0, offset = 0;
    if (std::sscanf(std::string(line.substr(0, slash)).c_str(), "%llx-%*x %*s %llx", &start, &offset) != 2) continue;
    seen[line.substr(slash)] = true;
    files.push_back({std::string(line.substr(slash)), start, offset});
  }
  return files;
}

std::vector<MappedFile> mapped_files(int pid) {
  return parse_mapped_files(read_small_file(fmt::format("/proc/{}/maps", pid), 16 << 20));
}

std::map<std::string, uint64_t> exported_addresses(const MappedFile& file, const std::vector<std::string>& names,
                                                   const std::string& root) {
  std::map<std::string, uint64_t> found;
  const FileView view(root + file.path);
  const auto header = view.at<Elf64_Ehdr>(0, 1);
  if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      header[0].e_ident[EI_CLASS] != ELFCLASS64)
    return found;
  // The kernel maps the segment that holds file.offset at file.start; that gives the load bias.
  uint64_t bias = 0;
  for (const Elf64_Phdr& segment : view.at<Elf64_Phdr>(header[0].e_phoff, header[0].e_phnum))
    if (segment.p_type == PT_LOAD && (segment.p_offset & ~0xfffull) == (file.offset & ~0xfffull)) {
      bias = file.start - (segment.p_vaddr & ~0xfffull);
      break;
    }
  const auto sections = view.at<Elf64_Shdr>(header[0].e_shoff, header[0].e_shnum);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections.size()) continue;
    const uint64_t strings = sections[section.sh_link].sh_offset;
    for (const Elf64_Sym& symbol : view.at<Elf64_Sym>(section.sh_offset, section.sh_size / sizeof(Elf64_Sym))) {
      if (symbol.st_value == 0) continue;
      const std::string_view name = view.text(strings + symbol.st_name);
      if (std::find(names.begin(), names.end(), name) != names.end()) found[std::string(name)] = bias + symbol.st_value;
    }
  }
  return found;
}

}  // namespace isochron::observe
