// Trains an LSTM to predict the next character of a text, then generates text. Prints the falling
// loss and the generated text. Usage: char_lstm [TEXT FILE]; without a file it learns a rhyme.
#include <tapegrad/tapegrad.h>

using namespace tapegrad;

const char* const rhyme =
    "This is the house that Jack built.\n"
    "This is the malt that lay in the house that Jack built.\n"
    "This is the rat that ate the malt that lay in the house that Jack built.\n"
    "This is the cat that killed the rat that ate the malt that lay in the house that Jack built.\n"
    "This is the dog that worried the cat that killed the rat that ate the malt that lay in the "
    "house that Jack built.\n";

// An embedding of the characters, an LSTM, and the logits of each next character.
struct CharLstm {
  Embedding embedding;
  Recurrent lstm;
  Linear output;
  CharLstm(Index characters, Random& random)
      : embedding(characters, 16, random),
        lstm(Cell::lstm, 16, 96, random),
        output(96, characters, random) {}
  // ids: (T, B)   states: from the last call; none: zeros   logits: (T, B, characters)
  Tensor operator()(const Indices& ids, std::vector<RecurrentState>& states) const {
    const auto [outputs, last] = lstm(embedding(ids), states);
    states = last;
    return output(outputs);
  }
  void visit(Fields& field) const {
    field("embedding", embedding);
    field("lstm", lstm);
    field("output", output);
  }
};

// Samples an index from the given probabilities.
Index choose(const Tensor& probabilities, Random& random) {
  double left = random.uniform();
  for (Index i = 0; i + 1 < probabilities.size(); ++i)
    if ((left -= probabilities.data()[i]) < 0) return i;
  return probabilities.size() - 1;
}

void train_and_write(const std::string& text) {
  const Characters characters(text);
  const Indices ids = characters.encode(text);
  Random random(1);
  const CharLstm net(characters.count(), random);
  Adam adam(parameters(net), {.learning_rate = 0.01});
  for (int step = 0; step <= 300; ++step) {
    const TextBatch batch = random_rows(ids, 16, 48, random);
    Tape tape;
    std::vector<RecurrentState> states;
    const Tensor logits = net(transposed(batch.inputs), states);
    const Tensor loss = cross_entropy(logits, transposed(batch.targets));
    std::vector<Tensor> gradients = grad(loss, adam.parameters());
    clip_by_global_norm(gradients, 1);  // gradients through many steps may explode
    adam.step(gradients);
    if (step % 100 == 0) fmt::print("step {:3}: {:.3f} nats per character\n", step, loss.item());
  }

  std::vector<RecurrentState> states;
  Indices next({1, 1}, {ids.data()[0]});  // the sample begins like the text
  for (int i = 0; i < 300; ++i) {
    fmt::print("{}", characters.decode(next));
    next = Indices({1, 1}, {choose(softmax(net(next, states)), random)});
  }
  fmt::print("\n");
}

int main(int argc, char** argv) {
  try {
    expect<Error>(argc <= 2, "one argument at most: {} given", argc - 1);
    train_and_write(argc > 1 ? read_text(argv[1]) : rhyme);
  } catch (const std::exception& error) {
    fmt::print(stderr, "char_lstm: {}\n", error.what());
    return 1;
  }
}
