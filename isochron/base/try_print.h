// Words of the library for whoever runs it, on standard output or standard error: written as far as they can be.
//
//   try_print(stderr, "checkpoint: can't save {}: {}\n", path, why);
//
// Unlike fmt::print it never throws for a stream that is closed or lies on a full disk: a training that outlives the
// full disk must outlive telling so, with its standard error on that disk. What is lost leaves ferror(stream) set.
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <string>

namespace isochron {

template <class... Args>
void try_print(std::FILE* stream, fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  std::fwrite(text.data(), 1, text.size(), stream);
}

}  // namespace isochron
