// The labelled runs of tests/runs, from their files; score.py prints the same as a table.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "isochron/base/files.h"
#include "isochron/diagnose/diagnose.h"
#include "isochron/readers/console_reader.h"
#include "isochron/readers/read_run.h"
#include "tests/source_dir.h"

namespace isochron {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<fs::path> labelled_runs() {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(ISOCHRON_SOURCE_DIR "/tests/runs"))
    if (fs::exists(entry.path() / "label.json")) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

json label_of(const fs::path& folder) { return json::parse(read_file((folder / "label.json").string())); }

TEST(LabelledRuns, SymptomsAndCausesFromFiles) {
  size_t runs = 0, symptoms = 0, causes = 0;
  for (const fs::path& folder : labelled_runs()) {
    const json label = label_of(folder);
    const auto verdicts = diagnose(read_run({folder.string()}).runs.front());
    const std::string symptom(name_of(verdicts.front().symptom)), cause(name_of(verdicts.front().cause));
    ++runs;
    symptoms += symptom == label["symptom"];
    std::vector<std::string> fair = label["also_ok"];
    fair.push_back(label["cause"]);
    const std::vector<std::string> evidence = label["evidence"];
    const bool only_live = evidence.size() == 1 && evidence[0] == "live";
    const bool advised =
        only_live && cause == "unknown" && verdicts.front().fix.find("isochron watch") != std::string::npos;
    causes += std::find(fair.begin(), fair.end(), cause) != fair.end() || (advised && symptom == label["symptom"]);
    if (label["symptom"] == "healthy") {
      EXPECT_EQ(symptom, "healthy") << folder;
    }
  }
  ASSERT_GE(runs, 30u);
  EXPECT_GE(static_cast<double>(symptoms), 0.95 * static_cast<double>(runs));
  EXPECT_GE(static_cast<double>(causes), 0.90 * static_cast<double>(runs));
}

TEST(LabelledRuns, EpochTimesFromFiles) {
  for (const fs::path& folder : labelled_runs()) {
    const std::vector<double> wanted = label_of(folder)["epochs_s"];
    const RunRecord run = read_run({folder.string()}).runs.front();
    ASSERT_EQ(run.epochs.size(), wanted.size()) << folder;
    for (size_t i = 0; i < wanted.size(); ++i)
      EXPECT_NEAR(run.epochs[i].seconds, wanted[i], 0.05 * wanted[i] + run.epochs[i].resolution + 0.01)
          << folder << " epoch " << i + 1;
  }
}

// The same output fed as it came, with its times: what a watcher of the live process sees.
TEST(LabelledRuns, EpochTimesFromReplayedOutput) {
  for (const fs::path& folder : labelled_runs()) {
    const std::vector<double> wanted = label_of(folder)["epochs_s"];
    const std::string log = read_file((folder / "console.log").string());
    ConsoleReader reader;
    size_t at = 0;
    for (const json& chunk : json::parse(read_file((folder / "timing.json").string()))) {
      reader.feed(std::string_view(log).substr(std::min(at, log.size()), chunk[1].get<size_t>()),
                  chunk[0].get<double>());
      at += chunk[1].get<size_t>();
    }
    const RunRecord run = reader.finish().front();
    ASSERT_EQ(run.epochs.size(), wanted.size()) << folder;
    for (size_t i = 0; i < wanted.size(); ++i)
      EXPECT_NEAR(run.epochs[i].seconds, wanted[i], 0.05 * wanted[i] + 0.02) << folder << " epoch " << i + 1;
  }
}

}  // namespace
}  // namespace isochron
