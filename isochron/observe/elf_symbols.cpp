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

namespace {

uint32_t gnu_hash(std::string_view name) {
  uint32_t hash = 5381;
  for (const unsigned char c : name) hash = hash * 33 + c;
  return hash;
}

// The layout of a .gnu.hash section: header, bloom filter, buckets, then one hash per symbol from
// `first` on, whose lowest bit ends a chain.
struct GnuHash {
  uint32_t buckets, first, bloom_words, bloom_shift;
};

struct SymbolTable {
  std::span<const Elf64_Sym> symbols;
  uint64_t strings = 0;
  uint64_t hash = 0;
};

const Elf64_Sym* find_symbol(const FileView& view, const SymbolTable& table, std::string_view name) {
  const auto header = view.at<GnuHash>(table.hash, 1);
  if (header.empty() || header[0].buckets == 0) return nullptr;
  const uint64_t buckets_at = table.hash + sizeof(GnuHash) + 8ull * header[0].bloom_words;
  const uint32_t hash = gnu_hash(name);
  const auto bucket = view.at<uint32_t>(buckets_at + 4ull * (hash % header[0].buckets), 1);
  if (bucket.empty() || bucket[0] < header[0].first) return nullptr;
  for (uint64_t i = bucket[0]; i < table.symbols.size(); ++i) {
    const auto chained = view.at<uint32_t>(buckets_at + 4ull * header[0].buckets + 4ull * (i - header[0].first), 1);
    if (chained.empty()) return nullptr;
    const Elf64_Sym& symbol = table.symbols[i];
    if ((chained[0] | 1) == (hash | 1) && view.text(table.strings + symbol.st_name) == name) return &symbol;
    if (chained[0] & 1) return nullptr;
  }
  return nullptr;
}

}  // namespace

std::map<std::string, Symbol> exported_symbols(const MappedFile& file, const std::vector<std::string>& names,
                                               const std::string& root) {
  std::map<std::string, Symbol> found;
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
  SymbolTable table;
  const auto sections = view.at<Elf64_Shdr>(header[0].e_shoff, header[0].e_shnum);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type == SHT_GNU_HASH) table.hash = section.sh_offset;
    if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections.size()) continue;
    table.symbols = view.at<Elf64_Sym>(section.sh_offset, section.sh_size / sizeof(Elf64_Sym));
    table.strings = sections[section.sh_link].sh_offset;
  }
  for (const std::string& name : names)
    if (const Elf64_Sym* symbol = find_symbol(view, table, name); symbol && symbol->st_value != 0)
      found[name] = {bias + symbol->st_value, bias + symbol->st_value + symbol->st_size};
  return found;
}

}  // namespace isochron::observe
