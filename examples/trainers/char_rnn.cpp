// Trains a recurrent network to write text, character by character.

#include "support/placement_flag.h"
#include "tapegrad/tapegrad.h"
#include "trainers/char_training.h"

using namespace tapegrad;
using namespace tapegrad::support;

namespace {

struct CharRnnFlags : CharFlags {
  std::string model = "lstm";
  std::string placement = "paper";
  Index hidden = 256;
  Index embedding = 64;

  CharRnnFlags()
      : CharFlags("char_rnn", "Trains a recurrent network to write text, character by character.") {
    optimizer.learning_rate = 2e-3;
    optimizer.clip_norm = 1;
    training("--model", model, "Recurrent cell").check(one_of(cell_names()));
    training("--hidden", hidden, "Channels of the state").check(between(1, 1 << 16));
    training("--embedding", embedding, "Channels of the embedding").check(between(1, 1 << 16));
    add_placement_flag(*this, placement);
    add_shared();
  }

  const Cell& cell() const { return Cell::named(model); }
  RecurrentOptions recurrent() const {
    return {.layers = layers,
            .dropout = layers > 1 ? dropout : 0,
            .norm = NormSpec(norm),
            .placement = norm_placement(placement)};
  }
};

std::vector<RecurrentState> states_of(const Memory& memory, bool with_cells) {
  std::vector<RecurrentState> states;
  for (std::size_t i = 0; i < memory.size(); i += with_cells ? 2 : 1)
    states.push_back({memory[i], with_cells ? memory[i + 1] : Tensor()});
  return states;
}

Memory memory_of(const std::vector<RecurrentState>& states) {
  Memory memory;
  for (const RecurrentState& state : states) {
    memory.push_back(state.h);
    if (state.c.defined()) memory.push_back(state.c);
  }
  return memory;
}

CharModel make_model(const CharRnnFlags& flags, Index vocabulary, Random& random) {
  const CharRnn net(vocabulary, random,
                    {.cell = flags.cell(),
                     .embedding = flags.embedding,
                     .hidden = flags.hidden,
                     .recurrent = flags.recurrent(),
                     .dropout = flags.dropout});
  const bool with_cells = flags.cell().has_c;
  const auto logits = [net, with_cells](const Indices& ids, Memory* memory, Mode mode) {
    const auto states =
        memory == nullptr ? std::vector<RecurrentState>() : states_of(*memory, with_cells);
    const auto [values, last] = net(transposed(ids), states, mode);
    if (memory != nullptr) *memory = memory_of(last);
    return transpose(values, 0, 1);
  };
  const auto carried = [net, batch = flags.batch_size](Index) {
    std::vector<RecurrentState> states;
    for (const RecurrentLayer& layer : net.recurrent.layers) states.push_back(layer.first(batch));
    return memory_of(states);
  };
  return {fields(net), logits, carried};
}

}  // namespace

int main(int argc, char** argv) {
  CharRnnFlags flags;
  return flags.run(argc, argv, [&](Trainer& trainer) {
    return run_char_model(flags, flags.model, trainer, [&](Index vocabulary, Random& random) {
      return make_model(flags, vocabulary, random);
    });
  });
}
