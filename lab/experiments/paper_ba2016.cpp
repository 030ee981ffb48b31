#include "experiments/paper_ba2016.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

PaperTask retrieval() {
  return {.name = "retrieval",
          .title = "Retrieval",
          .of_paper = "MS COCO",
          .unit = "% R@10 of images",
          .loss = "% missed, mean of K = 1, 5, 10",
          .metric = {.value = "test",
                     .higher_is_better = true,
                     .worst = 0,
                     .of_items = true,
                     .baseline = 20},  // below, a net has not learned to search
          .decimals = 1,
          .systems = {"none", "layer", "symmetric", "bag_of_words"}};
}

PaperTask reader() {
  return {.name = "reader",
          .title = "bAbI",
          .of_paper = "CNN corpus",
          .unit = "% error",
          .loss = "% error",
          .metric = {.value = "test", .worst = 100, .of_items = true},
          .decimals = 1,
          .systems = {"none", "layer", "layer_small_gain", "layer_everywhere", "batch",
                      "batch_everywhere"},
          .baseline = "most_frequent_entity"};
}

PaperTask skip_thoughts() {
  return {.name = "skip_thoughts",
          .title = "Sentences",
          .of_paper = "BookCorpus",
          .unit = "%, mean of five probes",
          .loss = "nats per word",
          .metric = {.value = "test", .higher_is_better = true, .worst = 0},
          .decimals = 1,
          .systems = {"none", "layer"},
          .chosen_by_loss = true};
}

PaperTask drawing() {
  return {.name = "draw",
          .title = "Binarized MNIST",
          .of_paper = "Binarized MNIST",
          .unit = "nats per image, a bound",
          .loss = "nats per image, a bound",
          .metric = {.value = "test", .of_items = true, .baseline = 150},
          .decimals = 2,
          .published_decimals = 2,
          .published = {},
          .systems = {"none", "layer", "layer_everywhere"}};
}

PaperTask handwriting(const std::string& name, const std::string& title) {
  return {.name = name,
          .title = title,
          .of_paper = "IAM-OnDB",
          .unit = "nats per move",
          .loss = "nats per move",
          .metric = {.value = "test", .of_items = true},
          .decimals = 3,
          .systems = {"none", "layer"},
          .baseline = "by_pen"};
}

PaperTask digits(Index batch_size, const std::vector<std::string>& systems) {
  return {.name = fmt::format("mnist_{}", batch_size),
          .title = fmt::format("MNIST, batches of {}", batch_size),
          .of_paper = "MNIST",
          .unit = "% error",
          .loss = "% error",
          .metric = {.value = "test", .worst = 100, .of_items = true},
          .decimals = 2,
          .systems = systems,
          .baseline = "linear_softmax"};
}

}  // namespace

const Paper& ba2016() {
  static const Paper paper{
      "ba2016",
      {retrieval(), reader(), skip_thoughts(), drawing(), handwriting("omniglot", "Omniglot"),
       handwriting("kanji", "Kanji"), handwriting("written_digits", "Written digits"),
       digits(128, {"none", "layer", "batch", "batch_hidden"}),
       digits(4, {"none", "layer", "batch", "batch_hidden", "batch_biased"})}};
  return paper;
}

const std::vector<FigureOfPaper> ba2016_figures{
    {1, "Order embeddings", {"retrieval"}},
    {2, "The attentive reader", {"reader"}},
    {3, "Skip-thoughts", {"skip_thoughts"}},
    {4, "DRAW", {"draw"}},
    {5, "Handwriting", {"omniglot", "kanji", "written_digits"}},
    {6, "Permutation-invariant MNIST", {"mnist_128", "mnist_4"}}};

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
