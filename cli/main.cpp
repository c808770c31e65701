// The `isochron` command: finds the subcommand and turns errors into exit codes.
#include <fcntl.h>
#include <unistd.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/command.h"
#include "isochron/base/error.h"
#include "isochron/base/names.h"
#include "isochron/base/try_print.h"

namespace isochron::cli {
namespace {

// A function-local static, because commands register before main() in no particular order.
std::vector<Command>& registry() {
  static std::vector<Command> all;
  return all;
}

// CLI11 only says that a subcommand is required, whether none was given or one that does not exist.
int refuse_command(const CLI::App& app, const std::vector<std::string>& given) {
  if (given.empty()) {
    try_print(stderr, "{}", app.help());
    return exit_code::usage;
  }
  std::vector<std::string_view> known;
  for (const Command& command : registry()) known.push_back(command.name);
  try_print(stderr, "isochron: unknown command \"{}\"{}\nRun with --help for more information.\n", given.front(),
            did_you_mean(given.front(), known));
  return exit_code::usage;
}

int run(int argc, char** argv) {
  CLI::App app("Training in which every epoch costs the same, and a doctor for runs in which it does not.", "isochron");
  app.set_version_flag("--version", "isochron " ISOCHRON_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 success, 1 what --fail-on names was found, 2 wrong usage, unreadable input or output that "
      "can't be written, 3 a defect in isochron.\n"
      "NO_COLOR turns colours off; output is plain when it does not go to a terminal.");
  std::vector<Command>& all = registry();
  std::sort(all.begin(), all.end(), [](const Command& a, const Command& b) { return a.name < b.name; });
  for (const Command& command : all) {
    Arguments arguments(*app.add_subcommand(command.name, command.summary));
    command.add_options(arguments);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::RequiredError& e) {
    if (app.get_subcommands().empty()) return refuse_command(app, app.remaining());
    return app.exit(e), exit_code::usage;
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
  CLI::Option* option = app_.add_option(names, value, help);
  option->check([](const std::string& text) { return text.starts_with('-') ? "must not be negative" : ""; });
  if (value >= 0) option->capture_default_str();  // a default below it stands for none
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

namespace {

// The next file that is opened would get the number of a stream that is closed, and what is printed would go into
// that file. What comes in its place fails as the closed one would.
void hold_closed_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) < 0) (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int run_and_tell(int argc, char** argv) {
  namespace exit_code = isochron::cli::exit_code;
  try {
    return isochron::cli::run(argc, argv);
  } catch (const isochron::Error& e) {
    isochron::try_print(stderr, "isochron: {}\n", e.what());
    return exit_code::usage;
  } catch (const std::exception& e) {
    if (std::ferror(stdout)) return exit_code::usage;  // main tells it
    isochron::try_print(stderr, "isochron: {}\n", e.what());
    return exit_code::internal;
  }
}

}  // namespace

int main(int argc, char** argv) {
  hold_closed_streams();
  const int status = run_and_tell(argc, argv);
  // Until now it may have lain in a buffer.
  const bool lost_before = std::ferror(stdout);
  if (std::fflush(stdout) == 0 && !lost_before) return status;
  isochron::try_print(stderr, "isochron: standard output could not be written{}\n",
                      lost_before ? "" : std::string(": ") + std::strerror(errno));
  return isochron::cli::exit_code::usage;
}
