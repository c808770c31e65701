// The `isochron` command: finds the subcommand and turns errors into exit codes.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdio>

#include "cli/command.h"
#include "isochron/base/error.h"

namespace isochron::cli {
namespace {

// A function-local static, because commands register before main() in no particular order.
std::vector<Command>& registry() {
  static std::vector<Command> all;
  return all;
}

int run(int argc, char** argv) {
  CLI::App app("Training in which every epoch costs the same, and a doctor for runs in which it does not.", "isochron");
  app.set_version_flag("--version", "isochron " ISOCHRON_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 success, 1 what --fail-on names was found, 2 wrong usage or unreadable input, 3 a defect in "
      "isochron.\nNO_COLOR turns colours off; output is plain when it does not go to a terminal.");
  std::vector<Command>& all = registry();
  std::sort(all.begin(), all.end(), [](const Command& a, const Command& b) { return a.name < b.name; });
  for (const Command& command : all) {
    Arguments arguments(*app.add_subcommand(command.name, command.summary));
    command.add_options(arguments);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? exit_code::success : exit_code::usage;
  }
  for (const Command& command : all)
    if (app.got_subcommand(command.name)) return command.run();
  return exit_code::usage;
}

}  // namespace

Arguments& Arguments::flag(const std::string& names, bool& value, const std::string& help) {
  app_.add_flag(names, value, help);
  return *this;
}

Arguments& Arguments::value(const std::string& names, std::string& value, const std::string& help, bool required) {
  CLI::Option* option = app_.add_option(names, value, help)->required(required);
  if (!value.empty()) option->capture_default_str();
  return *this;
}

Arguments& Arguments::value(const std::string& names, int& value, const std::string& help) {
  app_.add_option(names, value, help)->capture_default_str();
  return *this;
}

Arguments& Arguments::value(const std::string& names, double& value, const std::string& help) {
  app_.add_option(names, value, help)->capture_default_str();
  return *this;
}

Arguments& Arguments::list(const std::string& names, std::vector<std::string>& values, const std::string& help,
                           bool required) {
  CLI::Option* option = app_.add_option(names, values, help)->required(required);
  if (names.starts_with('-')) option->delimiter(',')->allow_extra_args(false);
  return *this;
}

Arguments& Arguments::rest(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  app_.add_option(name, values, help);
  return *this;
}

Arguments& Arguments::footer(const std::string& text) {
  app_.footer(text);
  return *this;
}

Registered::Registered(Command command) { registry().push_back(std::move(command)); }

}  // namespace isochron::cli

int main(int argc, char** argv) {
  namespace exit_code = isochron::cli::exit_code;
  try {
    return isochron::cli::run(argc, argv);
  } catch (const isochron::Error& e) {
    fmt::print(stderr, "isochron: {}\n", e.what());
    return exit_code::usage;
  } catch (const std::exception& e) {
    fmt::print(stderr, "isochron: {}\n", e.what());
    return exit_code::internal;
  }
}
