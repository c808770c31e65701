// Addresses of exported symbols in a running process: which file is mapped where, and where in it a
// name lies.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace isochron::observe {

// A file mapped into a process, at its lowest address.
struct MappedFile {
  std::string path;
  uint64_t start = 0;
  uint64_t offset = 0;  // of `start` in the file
};

// Files mapped into a process, each once, in the order of their addresses.
std::vector<MappedFile> mapped_files(int pid);
std::vector<MappedFile> parse_mapped_files(std::string_view maps);

// A symbol at its run-time addresses.
struct Symbol {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Those of `names` (mangled, whole) that the file exports; empty when it is no 64-bit ELF file. Goes
// through the file's hash table, so a library of a gigabyte costs a few page reads. `root` is put before
// the path (/proc/PID/root for a process in a container).
std::map<std::string, Symbol> exported_symbols(const MappedFile& file, const std::vector<std::string>& names,
                                               const std::string& root = {});

}  // namespace isochron::observe
