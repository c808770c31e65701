// Names of files: patterns to sorted lists, and what tells whether files have changed.
#pragma once

#include <string>
#include <vector>

namespace isochron::data {

// One file, or a pattern with * ? [ ] as in a shell, sorted by name. FileError when nothing matches.
std::vector<std::string> matching_files(const std::string& pattern);

// Path, size and time of change of each.
std::string fingerprint_of_files(const std::vector<std::string>& paths);

}  // namespace isochron::data
