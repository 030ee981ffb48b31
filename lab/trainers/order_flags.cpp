#include "trainers/order_tasks.h"

#include "support/data_files.h"
#include "support/saved_net.h"
#include "tapegrad/train/norm_flag.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

constexpr const char* wordnet = "wordnet";

}  // namespace

OrderFlags::OrderFlags()
    : TrainingFlags("order_embeddings",
                    "Learns which captions describe which images, or which concepts are kinds of "
                    "which, as an order of points.",
                    {.epochs = 13,
                     .batch_size = 128,
                     .optimizer = {.schedule = "constant"},
                     .keep_best = true}) {
  training("--task", task, "Task: captions of images, or the hypernyms of wordnet")
      .check(one_of({"captions", wordnet}));
  input("--data", data,
        data_help("the task's set", "multi30k-captions/ or wordnet-hypernyms/") +
            "; without it, draws data");
  add_query_flag(
      *this, query,
      "Show what the net of --resume finds for this caption or concept, without training");
  add_norm_flag(*this, norm, "Normalization of the GRU");
  training("--encoder", encoder, "What reads captions: a GRU, or a bag_of_words")
      .check(one_of({"gru", "bag_of_words"}));
  training("--cost", cost, "Cost of a pair: violations of the order, or the negative cosine")
      .check(one_of({"order", "cosine"}));
  training("--embedding", embedding, "Channels of the words").check(between(1, 1 << 16));
  training("--hidden", hidden, "Dimensions of the order").check(between(1, 1 << 16));
  training("--margin", margin, "How much more a wrong pair should cost").check(positive());
  checks([this] { settle(); });
  footer(
      "With --task wordnet, the defaults are --epochs 10 --batch-size 500 --lr 0.01 --hidden 50 "
      "--margin 1;\nwith --cost cosine, --margin 0.2. --clip-each is 2 for captions.");
}

void OrderFlags::settle() {
  const auto suit = [&](const char* flag, auto& value, auto usual) {
    if (!given(flag)) value = usual;
  };
  if (task != wordnet) {
    suit("--margin", margin, cost == "cosine" ? 0.2 : 0.05);
    suit("--clip-each", optimizer.clip_each, 2.0);
    if (encoder == "bag_of_words" && norm != "none")
      throw FlagError("--norm", "has no effect with --encoder bag_of_words");
    return;
  }
  suit("--epochs", epochs, Index{10});
  suit("--batch-size", batch_size, Index{500});
  suit("--lr", optimizer.learning_rate, 0.01);
  suit("--hidden", hidden, Index{50});
  suit("--margin", margin, 1.0);
  for (const char* flag : {"--norm", "--encoder", "--cost", "--embedding"})
    if (given(flag)) throw FlagError(flag, "has no effect with --task wordnet");
}

OrderEmbeddingOptions OrderFlags::model() const {
  return {.words = embedding,
          .hidden = hidden,
          .norm = norm,
          .symmetric = cost == "cosine",
          .bag_of_words = encoder == "bag_of_words"};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
