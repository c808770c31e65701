// The library of fmt was made by GCC, which gives this function another name than clang.
#include <fmt/format.h>

template void fmt::detail::vformat_to(fmt::detail::buffer<char>&, fmt::string_view,
                                      fmt::basic_format_args<FMT_BUFFER_CONTEXT(char)>, fmt::detail::locale_ref);
