#include "isochron/checkpoint/manifest.h"

#include <ctime>

#include "isochron/base/crc32c.h"
#include "isochron/base/json.h"

namespace isochron {
namespace {

constexpr const char* kFormat = "isochron-checkpoint";
constexpr int kVersion = 1;
// The last line of a manifest is the checksum of all before it.
constexpr std::string_view kSeal = ",\n \"manifest_crc32c\": \"";

std::string hex(uint32_t crc) { return fmt::format("{:08x}", crc); }

std::string utc(int64_t unix_ns) {
  const std::time_t seconds = unix_ns / 1'000'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

std::string sealed_manifest(const std::string& body) {
  return fmt::format("{}{}{}\"\n}}\n", body, kSeal, hex(crc32c(body)));
}

std::string manifest_text(const CheckpointInfo& info, const std::string& state_file) {
  Json logs = Json::object();
  for (const auto& [name, value] : info.logs) logs[name] = value;  // NaN and infinities become null
  const Json document = {{"format", kFormat},
                         {"version", kVersion},
                         {"model", info.model},
                         {"epoch", info.epoch},
                         {"step", info.step},
                         {"total_steps", info.total_steps},
                         {"threads", info.threads},
                         {"logs", logs},
                         {"saved_at", utc(info.saved_at_ns)},
                         {"saved_at_ns", info.saved_at_ns},
                         {"state", {{"file", state_file}, {"bytes", info.bytes}, {"crc32c", hex(info.crc32c)}}}};
  std::string body = json_text(document, 1);
  body.resize(body.rfind("\n}"));
  return sealed_manifest(body);
}

bool is_manifest(const std::string& text) { return text.find(kFormat) != std::string::npos; }
bool is_blank_manifest(const std::string& text) { return text.find_first_not_of('\0') == std::string::npos; }

CheckpointInfo parse_manifest(const std::string& path, const std::string& text, const std::string& state_file) {
  const auto refuse = [&](const std::string& why) { fail<FileError>("checkpoint", "{}: {}", path, why); };
  const size_t seal = text.rfind(kSeal);
  if (seal == std::string::npos || sealed_manifest(text.substr(0, seal)) != text)
    refuse(is_manifest(text) ? "manifest.json does not match its checksum: bytes have changed since it was written"
           : is_blank_manifest(text) ? "manifest.json is empty: its bytes never reached the disk"
                                     : "foreign: its manifest.json is none of ours");
  CheckpointInfo info;
  try {
    const Json document = with_numbers_in_range(parse_json(text), "logs");
    if (document.at("format") != kFormat) refuse("foreign: its manifest.json is none of ours");
    if (const int version = document.at("version"); version != kVersion)
      refuse(fmt::format("written by a newer isochron: version {}, this one reads {}", version, kVersion));
    info.model = document.at("model");
    info.epoch = document.at("epoch");
    info.step = document.at("step");
    info.total_steps = document.at("total_steps");
    info.threads = document.at("threads");
    info.saved_at_ns = document.at("saved_at_ns");
    for (const auto& [name, value] : document.at("logs").items())
      info.logs.emplace_back(name, value.is_number() ? value.get<double>() : std::nan(""));
    const Json& state = document.at("state");
    if (state.at("file") != state_file) refuse("its state is in another file than " + state_file);
    info.bytes = state.at("bytes");
    info.crc32c = static_cast<uint32_t>(std::stoul(state.at("crc32c").get<std::string>(), nullptr, 16));
    for (const int64_t count : {int64_t{info.epoch}, info.step, info.total_steps, int64_t{info.threads}, info.bytes})
      if (count < 0) refuse(fmt::format("its manifest.json says {} where no number is negative", count));
  } catch (const Json::exception& error) {
    refuse(error.what());
  } catch (const std::logic_error& error) {
    refuse(error.what());
  }
  return info;
}

}  // namespace isochron
