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

// Run-time addresses of those of `names` that the file exports; empty when it is no 64-bit ELF file.
// `root` is put before the path (/proc/PID/root for a process in a container).
std::map<std::string, uint64_t> exported_addresses(const MappedFile& file, const std::vector<std::string>& names,
                                                   const std::string& root = {});

}  // namespace isochron::observe
