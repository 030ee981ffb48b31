#include "experiments/paper_xu2019.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

constexpr double diverged = INFINITY;

const Metric tested_bits{.value = "test", .of_items = true};
// A share of the words or sentences, or BLEU.
const Metric tested_percent{
    .value = "test", .higher_is_better = true, .worst = 0, .of_items = true};

// BLEU points, bits and shares within which systems count as level were fixed before any run.

// Claims about tasks with deep nets: where a norm helps, and where systems count as level.
std::vector<PaperClaim> deep_claims(double margin, const PaperClaim& on_norms) {
  return {{"layer_simple", "detach", "table 2"},
          {"layer_simple", "detach_variance", "table 3"},
          {"detach_mean", "layer_simple", "table 3", margin},
          {"layer", "layer_simple", "table 1", margin},
          {"ada", "layer", "table 4", margin},
          on_norms};
}

std::vector<PaperClaim> sentence_claims() {
  return {{"layer", "none", "table 1"},
          {"layer_simple", "layer", "table 1", 1},
          {"detach_variance", "layer_simple", "table 3"},
          {"ada", "layer", "table 4"}};
}

std::vector<PaperClaim> parsing_claims() {
  return {{"layer", "none", "table 1"},
          {"detach", "layer_simple", "table 2"},
          {"ada", "layer", "table 4", 0.5}};
}

// The forms of lab/docs/forms.md that tell the forward pass from the backward pass: the backward
// pass of layer_simple alone, each of its two projections alone, and the forward pass alone.
const std::string backward_alone = "layer_simple:forward=identity,factor=1",
                  center_alone = "detach_variance:forward=identity,factor=1",
                  scale_alone = "detach_mean:forward=identity,factor=1",
                  forward_alone = "detach:factor=1";

// What was predicted of the forms before any was trained on a task.
void add_forms(PaperTask& task, double margin) {
  task.forms = {backward_alone, center_alone, scale_alone, forward_alone};
  for (const PaperClaim& claim :
       std::vector<PaperClaim>{{backward_alone, "layer_simple", "", margin},
                               {"layer_simple", forward_alone, ""},
                               {backward_alone, forward_alone, ""},
                               {backward_alone, "none", ""},
                               {forward_alone, "detach", ""}})
    task.claims.push_back(claim);
}

// That drift is what a detached mean costs: weights kept from drifting take the cost away, and
// change nothing where nothing drifts. So it was predicted before any was trained on a task.
void add_remedies(PaperTask& task, double margin) {
  const std::string centered = "detach_mean+center", projected = "detach_mean+project",
                    control = "layer_simple+center";
  task.remedies = {centered, projected, control};
  for (const PaperClaim& claim : std::vector<PaperClaim>{{centered, "layer_simple", "", margin},
                                                         {projected, "layer_simple", "", margin},
                                                         {centered, "detach_mean", ""},
                                                         {projected, "detach_mean", ""},
                                                         {control, "layer_simple", "", margin}})
    task.claims.push_back(claim);
}

PaperTask translation(const std::string& name, const std::string& title,
                      const std::string& of_paper, const std::vector<double>& published) {
  return {.name = name,
          .title = title,
          .of_paper = of_paper,
          .unit = "BLEU",
          .loss = "nats per token",
          .metric = tested_percent,
          .decimals = 2,
          .published_decimals = 1,
          .published = published,
          .baseline = "nearest_source",
          .chosen_by_loss = true,
          .other_tests = {{"test_2017_flickr", "the test set of 2017"}}};
}

PaperTask english_to_german() {
  PaperTask task = translation("en_de", "Multi30k En-De", "WMT En-De",
                               {diverged, 28.3, 28.4, diverged, 28.3, diverged, 28.5});
  task.claims = {{"layer_simple", "detach", "table 2"},
                 {"layer_simple", "detach_variance", "table 3"}};
  task.trained = {"none", "layer_simple", "detach", "detach_variance"};
  return task;
}

PaperTask german_to_english() {
  PaperTask task = translation("de_en", "Multi30k De-En", "IWSLT De-En",
                               {34.0, 35.5, 35.5, 33.9, 35.6, 34.2, 35.6});
  task.claims = deep_claims(1, {"layer", "none", "table 1"});
  add_forms(task, 1);
  add_remedies(task, 1);
  return task;
}

PaperTask english_to_vietnamese() {
  PaperTask task =
      translation("en_vi", "En-Vi", "IWSLT En-Vi", {28.4, 31.2, 31.6, 27.7, 31.3, 29.8, 31.4});
  task.absent = "no data";
  return task;
}

PaperTask text() {
  return {.name = "enwik8",
          .title = "enwik8 prefix",
          .of_paper = "Enwiki8",
          .unit = "bits per byte",
          .loss = "bits per byte",
          .metric = tested_bits,
          .decimals = 3,
          .published_decimals = 2,
          .published = {1.04, 1.07, 1.07, 1.12, 1.07, 1.10, 1.07},
          .baseline = "bigram",
          .claims = deep_claims(0.02, {"none", "layer", "table 1"}),
          .other_tests = {{"test_long", "with a memory of 256 bytes"}}};
}

// Figure 1 is to show overfitting. The updates of `text` read less than a third of its bytes, and a
// net cannot overfit what it reads once.
PaperTask short_text() {
  PaperTask task = text();
  task.name = "enwik8_short";
  task.title = "enwik8, 300 kB";
  task.published = {};
  task.systems = {"layer", "layer_simple"};
  task.claims = {};
  task.other_tests = {};
  return task;
}

PaperTask classification(const std::string& name, const std::string& title,
                         const std::string& of_paper, const std::vector<double>& published,
                         const std::vector<PaperClaim>& claims) {
  return {.name = name,
          .title = title,
          .of_paper = of_paper,
          .unit = "% accuracy",
          .loss = "nats",
          .metric = tested_percent,
          .decimals = 2,
          .published_decimals = 2,
          .published = published,
          .baseline = "majority",
          .claims = claims};
}

PaperTask reviews() {
  PaperTask task = classification(
      "rt", "RT", "RT", {76.85, 77.21, 76.66, 76.40, 75.02, 77.04, 77.50}, sentence_claims());
  add_forms(task, 1);
  return task;
}

// Each seed has a split of its own, so test items do not pair from seed to seed.
PaperTask splits_of_reviews() {
  PaperTask task =
      classification("rt_splits", "RT, five splits", "RT", {}, {{"layer_simple", "layer", "", 1}});
  task.metric.of_items = false;
  task.systems = {"layer", "layer_simple"};
  task.fewest_seeds = 5;
  return task;
}

PaperTask parsing() {
  Metric parsed = tested_percent;
  parsed.baseline = 75;  // below, a parser has not learned the task
  PaperTask task{.name = "ud_ewt",
                 .title = "UD-EWT",
                 .of_paper = "PTB",
                 .unit = "% UAS",
                 .loss = "nats per transition",
                 .metric = parsed,
                 .decimals = 2,
                 .published_decimals = 2,
                 .published = {88.31, 89.12, 89.19, 89.79, 89.45, 89.80, 89.23},
                 .claims = parsing_claims()};
  add_forms(task, 0.5);
  add_remedies(task, 0.5);
  return task;
}

PaperTask digits() {
  PaperTask task = classification("mnist", "MNIST", "MNIST",
                                  {99.14, 99.13, 99.09, 99.10, 99.25, 99.10, 99.35}, {});
  add_forms(task, 0.3);
  add_remedies(task, 0.3);
  return task;
}

std::vector<PaperTask> all_tasks() {
  return {english_to_german(),
          german_to_english(),
          english_to_vietnamese(),
          text(),
          reviews(),
          classification("sst5", "SST-5", "SST5", {38.55, 39.23, 40.54, 40.04, 40.99, 41.74, 40.54},
                         sentence_claims()),
          digits(),
          parsing(),
          splits_of_reviews(),
          short_text()};
}

}  // namespace

const Paper& xu2019() {
  static const Paper paper{"xu2019", all_tasks()};
  return paper;
}

const std::vector<PaperTable> paper_tables{
    {1,
     "Layer normalization, with gain and bias and without",
     {"none", "layer", "layer_simple"},
     {{"layer", "none"}, {"layer_simple", "layer"}}},
    {2,
     "Statistics detached from the gradient",
     {"none", "detach", "layer_simple"},
     {{"detach", "none"}, {"layer_simple", "detach"}}},
    {3,
     "The mean or the scale detached alone",
     {"layer_simple", "detach_mean", "detach_variance"},
     {{"detach_mean", "layer_simple"}, {"detach_variance", "layer_simple"}}},
    {4, "AdaNorm", {"none", "layer", "layer_simple", "ada"}, {{"ada", "layer"}}}};

const std::vector<PaperFigure> paper_figures{
    {1,
     "With gain and bias and without",
     {"layer", "layer_simple"},
     {"de_en", "enwik8", "enwik8_short"},
     true,
     "The paper's axes: epochs; En-Vi, training loss 2.5 to 4.5 and validation loss 3.6 to 5.0; "
     "Enwiki8, 0.90 to 1.30 and 1.10 to 1.35 bits."},
    {2,
     "With the derivatives of the statistics and without",
     {"layer_simple", "detach"},
     {"de_en", "en_de"},
     false,
     "The paper's axes: epochs; validation loss, De-En 4.0 to 7.5, En-Vi 4.5 to 6.5."},
    {3,
     "AdaNorm and layer normalization",
     {"ada", "layer"},
     {"de_en", "ud_ewt"},
     true,
     "The paper's axes: epochs; training and validation loss, De-En 3.0 to 4.4 and 3.7 to 4.0, PTB "
     "0 to 0.30 and 0.10 to 0.20."}};

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
