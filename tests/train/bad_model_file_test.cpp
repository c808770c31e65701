// Files of models that are not what they should be.
#include <gmock/gmock.h>

#include "isochron/base/files.h"
#include "isochron/isochron.h"
#include "isochron/train/model_file.h"

namespace isochron {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class BadFile : public testing::Test {
 protected:
  BadFile() {
    Sequential model{Input({6}), Dense(4, {.name = "hidden"}), Dense(2)};
    model.compile({.optimizer = "adam", .loss = "mse"});
    model.train_on_batch(ones({4, 6}), ones({4, 2}));
    model.save(path);
    bytes = read_file(path);
  }
  // The file with its description changed.
  void refuses(const std::string& from, const std::string& to, const std::string& words) {
    const SafetensorsFile file = read_safetensors(path);
    auto metadata = file.metadata;
    for (auto& [key, text] : metadata)
      if (const size_t at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
    const std::string changed = folder.file("changed.iso");
    write_safetensors(changed, file.tensors, metadata);
    EXPECT_THAT([&] { load_model(changed); },
                ThrowsMessage<FileError>(testing::AllOf(HasSubstr("changed.iso"), HasSubstr(words))))
        << to;
  }
  TempFolder folder;
  const std::string path = folder.file("m.iso");
  std::string bytes;
};

TEST_F(BadFile, DescriptionsAreChecked) {
  refuses("\"units\":4", "\"units\":4000000000000", "bytes is asked for");
  refuses("\"units\":4", "\"units\":-4", "units must be at least 1");
  refuses("\"units\":4", "\"units\":5", "are left in the file");
  refuses("\"units\":4", "\"units\":3", "the file has");
  refuses("\"units\":4", "\"units\":\"4\"", "expected a whole number");
  refuses("\"units\":4", "\"unit\":4", "\"units\" is missing");
  refuses("\"units\":4", "\"units\":4,\"unitz\":4", "there is no option \"unitz\"");
  refuses("\"class_name\":\"Dense\"", "\"class_name\":\"Dens\"", "register_for_saving<Dens>");
  refuses("\"linear\"", "\"rely\"", "unknown activation \"rely\"");
  refuses("\"weight\":0", "\"weight\":100", "optimizer has state of number 100");
  refuses("\"class_name\":\"Sequential\"", "\"class_name\":\"Functional\"", "\"calls\" is missing");
  refuses("{", "[", "no JSON");
  refuses("{\"model\"", std::string(400, '[') + "{\"model\"", "nested");
}

TEST_F(BadFile, ForeignFilesAndLaterVersionsAreNamed) {
  const SafetensorsFile file = read_safetensors(path);
  const std::string other = folder.file("other.safetensors");
  write_safetensors(other, file.tensors);
  EXPECT_THAT([&] { load_model(other); }, ThrowsMessage<FileError>(HasSubstr("holds tensors and no model")));
  auto metadata = file.metadata;
  metadata["version"] = "2";
  write_safetensors(other, file.tensors, metadata);
  EXPECT_THAT([&] { load_model(other); },
              ThrowsMessage<FileError>(HasSubstr("it is of version 2, this library reads version 1")));
  EXPECT_THAT([&] { load_model(folder.file("none.iso")); }, ThrowsMessage<FileError>(HasSubstr("none.iso")));
  auto missing = file.tensors;
  missing.erase(missing.begin());
  write_safetensors(other, missing, file.metadata);
  EXPECT_THROW(load_model(other), FileError);
}

TEST_F(BadFile, CutAndChangedFilesAreErrorsAndNoCrash) {
  const std::string damaged = folder.file("damaged.iso");
  for (size_t size = 0; size < bytes.size(); size += 211) {
    write_file(damaged, bytes.substr(0, size));
    EXPECT_THROW(load_model(damaged), FileError) << size;
  }
  // A changed byte gives an error or, inside a number, another model: never anything else.
  int refused = 0;
  for (size_t at = 0; at < bytes.size(); at += 41) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 7)));
    write_file(damaged, changed);
    try {
      load_model(damaged);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 20);
}

}  // namespace
}  // namespace isochron
