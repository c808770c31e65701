// One subcommand of `isochron`. A command is one file that registers itself:
//
//   namespace {
//   struct { std::vector<std::string> paths; bool json = false; } options;
//   void add_options(Arguments& arguments) {
//     arguments.list("PATH", options.paths, "files or folders").flag("--json", options.json, "print JSON");
//   }
//   int run() { …; return exit_code::success; }
//   const Registered registered{{"doctor", "explain why epochs were slow", add_options, run}};
//   }  // namespace
//
// and is listed in cli/CMakeLists.txt. Errors are thrown (isochron::Error), main.cpp prints them.
// CLI11 stays behind Arguments: its headers cost 15 s of compile time in every file that sees them.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace isochron::cli {

namespace exit_code {
inline constexpr int success = 0;
inline constexpr int found = 1;     // the thing asked for by --fail-on is there
inline constexpr int usage = 2;     // wrong arguments, input that can't be read, output that can't be written
inline constexpr int internal = 3;  // a defect in isochron
}  // namespace exit_code

// Declares options ("-j,--json") and positionals ("PATH"); the variables hold the defaults and get the values.
class Arguments {
 public:
  explicit Arguments(CLI::App& app) : app_(app) {}
  Arguments& flag(const std::string& names, bool& value, const std::string& help);
  Arguments& value(const std::string& names, std::string& value, const std::string& help, bool required = false);
  // 0 or more.
  Arguments& value(const std::string& names, int& value, const std::string& help);
  Arguments& value(const std::string& names, double& value, const std::string& help);
  // Several values; as an option they may be separated by commas.
  Arguments& list(const std::string& names, std::vector<std::string>& values, const std::string& help,
                  bool required = false);
  // All that follows `--` (`watch [options] -- python train.py --epochs 3`), left alone.
  Arguments& rest(const std::string& name, std::vector<std::string>& values, const std::string& help);
  // A paragraph below the options in --help.
  Arguments& footer(const std::string& text);

 private:
  CLI::App& app_;
};

struct Command {
  std::string name;
  std::string summary;
  void (*add_options)(Arguments& arguments);
  int (*run)();
};

struct Registered {
  explicit Registered(Command command);
};

}  // namespace isochron::cli
