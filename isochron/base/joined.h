// Lists inside sentences: "784, 128, 10". fmt::join would do it too, but brings a second of compiling to every file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace isochron {

std::string joined(std::span<const int64_t> numbers, std::string_view separator = ", ");
std::string joined(const std::vector<std::string>& words, std::string_view separator = ", ");
std::string joined(const std::vector<std::string_view>& words, std::string_view separator = ", ");

}  // namespace isochron
