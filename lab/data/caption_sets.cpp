#include "data/caption_sets.h"

#include <fmt/format.h>

#include <array>

#include "support/data_files.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"
#include "tapegrad/io/lines.h"
#include "tapegrad/io/sentences.h"
#include "tapegrad/train/resume.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

// Adds line i of a file to the i-th image, by `lines_of`. The first file makes the images.
void add_lines(std::vector<DescribedImage>& images, const std::filesystem::path& path,
               const std::filesystem::path& first,
               std::vector<std::string> DescribedImage::*lines_of) {
  const std::vector<std::string> lines = read_lines(path);
  expect<DataError>(!lines.empty(), "{}: it has no lines", path.string());
  if (images.empty()) images.resize(lines.size());
  expect<DataError>(lines.size() == images.size(),
                    "{} has {} lines, but {} has {}; each needs one for each image", path.string(),
                    lines.size(), first.string(), images.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    expect<DataError>(!words_of(lines[i]).empty(), "{}: line {} has no words", path.string(),
                      i + 1);
    (images[i].*lines_of).push_back(lines[i]);
  }
}

std::vector<DescribedImage> read_images(const std::string& directory, const std::string& part) {
  const auto find = [&](int i, const char* language) {
    return find_data_file(directory, "multi30k-captions",
                          fmt::format("{}.lc.norm.tok.{}.{}", part, i, language));
  };
  const std::filesystem::path first = find(1, "de");
  std::vector<DescribedImage> images;
  for (int i = 1; i <= 5; ++i) {
    add_lines(images, find(i, "de"), first, &DescribedImage::descriptions);
    add_lines(images, find(i, "en"), first, &DescribedImage::captions);
  }
  return images;
}

constexpr Index attributes = 40, attributes_of_image = 6, attributes_of_caption = 3;

// The name of an attribute in the language of descriptions, and in the language of captions.
std::string syllable(Index attribute) {
  constexpr std::string_view consonants = "bdgklmnr", vowels = "aeiou";
  return {consonants[attribute / 5], vowels[attribute % 5]};
}
std::string described(Index attribute) { return syllable(attribute) + syllable(attribute); }
std::string captioned(Index attribute) { return syllable(attribute) + "st"; }

DescribedImage draw_image(Random& random) {
  const Indices order = random.permutation(attributes);
  DescribedImage image{{""}, {}};
  for (Index i = 0; i < attributes_of_image; ++i)
    image.descriptions[0] += described(order.data()[i]) + " ";
  for (int i = 0; i < 3; ++i) {
    const Indices chosen = random.permutation(attributes_of_image);
    std::vector<std::string> names;
    for (Index k = 0; k < attributes_of_caption; ++k)
      names.push_back(captioned(order.data()[chosen.data()[k]]));
    constexpr std::array forms{"there is a {} with a {} and a {} .", "a {} and a {} near the {} .",
                               "the {} of a {} has a {} ."};
    image.captions.push_back(
        fmt::format(fmt::runtime(forms[random.below(forms.size())]), names[0], names[1], names[2]));
  }
  return image;
}

std::vector<DescribedImage> draw_images(Index count, Random random) {
  std::vector<DescribedImage> images;
  for (Index i = 0; i < count; ++i) images.push_back(draw_image(random));
  return images;
}

void add_images(Digest& digest, const std::vector<DescribedImage>& images) {
  for (const DescribedImage& image : images)
    for (const auto* lines : {&image.descriptions, &image.captions})
      for (const std::string& line : *lines) digest.add(line + "\n");
}

}  // namespace

Index CaptionSets::captions_of_each() const { return std::ssize(train.front().captions); }

std::string CaptionSets::digest() const {
  Digest digest;
  for (const auto* set : {&train, &validation}) add_images(digest, *set);
  return fmt::format("{} images, {}", train.size() + validation.size(), digest.to_string());
}

std::string CaptionSets::test_digest() const {
  Digest digest;
  add_images(digest, test);
  return digest.to_string();
}

CaptionSets read_caption_sets(const std::string& directory) {
  return {directory, read_images(directory, "train"), read_images(directory, "val"),
          read_images(directory, "test_2016")};
}

CaptionSets draw_caption_sets(std::uint64_t seed) {
  const Random random = Random(seed).stream(8);
  return {"images and captions drawn by this program", draw_images(3000, random.stream(1)),
          draw_images(200, random.stream(2)), draw_images(200, random.stream(3))};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
