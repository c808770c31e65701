#include <algorithm>
#include <cstring>
#include <filesystem>

#include "isochron/base/files.h"
#include "isochron/data/files/opening.h"
#include "isochron/data/files/paths.h"
#include "isochron/data/image/image.h"

namespace isochron::data {
namespace {

namespace fs = std::filesystem;

bool is_image_name(const fs::path& path) {
  std::string ending = path.extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

// Sorted paths of what is in a folder and satisfies `wanted`.
template <class Iterator, class F>
std::vector<fs::path> sorted_entries(const fs::path& folder, F&& wanted) {
  std::vector<fs::path> out;
  std::error_code error;
  for (Iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (wanted(*entry)) out.push_back(entry->path());
  if (error) fail<FileError>("list_images", "{}: {}", folder.string(), error.message());
  std::sort(out.begin(), out.end());
  return out;
}

class ImageFolder : public IndexedSource {
 public:
  ImageFolder(std::string folder, const ImageFolderOptions& options)
      : folder_(std::move(folder)), options_(options), listing_(list_images(folder_)), opening_(listing_.files) {
    opening_.done();
    if (options.height < 0 || options.width < 0 || (options.height == 0) != (options.width == 0))
      fail<ValueError>("image_folder", "height and width are both positive or both 0, got {} and {}", options.height,
                       options.width);
    if (options.channels != 1 && options.channels != 3)
      fail<ValueError>("image_folder", "channels is 1 or 3, got {}", options.channels);
  }
  int64_t size() const override { return static_cast<int64_t>(listing_.files.size()); }
  std::vector<ComponentSpec> specs() const override {
    if (options_.height == 0) return {};
    return {{DType::uint8, {options_.height, options_.width, options_.channels}}, {DType::int64, {}}};
  }
  void get(int64_t i, Element& out) const override {
    out.add(Component(image(i)));
    out.add(Component::scalar(listing_.labels[static_cast<size_t>(i)]));
  }
  void fill(int64_t i, std::span<std::byte* const> rows) const override {
    const Tensor pixels = image(i);
    std::memcpy(rows[0], pixels.raw_data(), static_cast<size_t>(pixels.spec().bytes()));
    std::memcpy(rows[1], &listing_.labels[static_cast<size_t>(i)], sizeof(int64_t));
  }
  std::string describe() const override {
    return fmt::format("image_folder({})", fs::path(folder_).filename().string());
  }
  std::string fingerprint() const override {
    return fmt::format("images:{}:{}:{}:{}", options_.height, options_.width, options_.channels,
                       fingerprint_of_files(listing_.files));
  }
  std::string file_of(int64_t i) const override { return listing_.files[static_cast<size_t>(i)]; }
  std::string note() const override { return opening_.note(describe()); }

 private:
  Tensor image(int64_t i) const {
    const std::string& file = listing_.files[static_cast<size_t>(i)];
    const std::string bytes = read_file(file, kLargestImageBytes);
    Tensor out = decode_image(
        bytes, {.channels = options_.channels, .min_height = options_.height, .min_width = options_.width}, file);
    const bool fits = options_.height == 0 || (out.dim(0) == options_.height && out.dim(1) == options_.width);
    return fits ? out : resize_image(out, options_.height, options_.width);
  }
  std::string folder_;
  ImageFolderOptions options_;
  ImageListing listing_;
  Opening opening_;
};

}  // namespace

ImageListing list_images(const std::string& folder) {
  ImageListing out;
  const auto folders = sorted_entries<fs::directory_iterator>(folder, [](const auto& e) { return e.is_directory(); });
  for (const fs::path& path : folders) {
    const auto files = sorted_entries<fs::recursive_directory_iterator>(
        path, [](const auto& e) { return e.is_regular_file() && is_image_name(e.path()); });
    for (const fs::path& file : files) {
      out.files.push_back(file.string());
      out.labels.push_back(static_cast<int64_t>(out.classes.size()));
    }
    out.classes.push_back(path.filename().string());
  }
  if (out.files.empty())
    fail<FileError>("list_images",
                    "{}: no .jpg, .jpeg or .png files in folders below it; one folder a class is expected", folder);
  return out;
}

Dataset image_files(const std::string& folder) {
  ImageListing listing = list_images(folder);
  const Shape shape{static_cast<int64_t>(listing.files.size())};
  return from_tensor_slices(Component(std::move(listing.files), shape),
                            Component(Tensor::from_buffer(std::move(listing.labels), shape)));
}

Dataset image_folder(const std::string& folder, const ImageFolderOptions& options) {
  return from_source(std::make_shared<const ImageFolder>(folder, options));
}

}  // namespace isochron::data
