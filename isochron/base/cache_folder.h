// Where small things are kept between runs, and names for them.
#pragma once

#include <string>
#include <string_view>

namespace isochron {

// $ISOCHRON_CACHE_DIR, else $XDG_CACHE_HOME/isochron, else ~/.cache/isochron. Empty (ISOCHRON_CACHE_DIR set to nothing,
// no home): nothing is kept. All that lies there may be deleted at any time.
std::string cache_folder();

// Writes a file below that folder, whole or not at all; what can't be written is not kept.
void write_kept(const std::string& path, std::string_view text);

// 64 bits of a text, as 16 hexadecimal digits.
std::string hashed(std::string_view text);

}  // namespace isochron
