// The `isochron` command: one subcommand per file in this folder.
#include <fmt/core.h>

int main() {
  fmt::print("isochron 0.1.0\n");
  return 0;
}
