// manifest.json of a checkpoint: what it is, where its state lies, and checksums of both.
#pragma once

#include <string>

#include "isochron/checkpoint/store.h"

namespace isochron {

inline constexpr int64_t kLargestManifest = 16 << 20;

std::string manifest_text(const CheckpointInfo& info, const std::string& state_file);
// An object that lacks its closing brace, with its checksum as the last member.
std::string sealed_manifest(const std::string& body);
// FileError, naming `path`, unless it is whole, unchanged, and of a version we know.
CheckpointInfo parse_manifest(const std::string& path, const std::string& text, const std::string& state_file);
// Whether it was once one of ours.
bool is_manifest(const std::string& text);
// Nothing, or zeros only, as a file system leaves it whose power failed.
bool is_blank_manifest(const std::string& text);

}  // namespace isochron
