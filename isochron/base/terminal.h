// What may be written to a stream that people look at.
#pragma once

namespace isochron {

// A terminal that moves its cursor and shows colours, rather than a file, a pipe, or TERM=dumb (editors, some CI).
bool is_full_terminal(int fd);

}  // namespace isochron
