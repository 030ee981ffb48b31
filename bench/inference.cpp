#include <memory>

#include "rows.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::bench {
namespace {

using Step = std::function<void()>;

// 1,000 characters of each text of a batch, one at a time. `start` returns a function from the last
// characters, (B), to the logits of the next, (B, 65).
template <class Start>
Step generation(Index batch, Start start) {
  const auto drawn = std::make_shared<Random>(2);
  return [=] {
    auto next = start();
    Indices last = Indices({batch}, std::vector<Index>(static_cast<std::size_t>(batch), 0));
    for (int i = 0; i < 1000; ++i) last = drawn->categorical(softmax(next(last)));
  };
}

BenchRow generate_lstm(const char* name, Index batch) {
  return {name, [=]() -> Step {
            Random random(1);
            const CharRnn net(65, random);
            return generation(batch, [=] {
              return [=, states = std::vector<RecurrentState>()](const Indices& last) mutable {
                const auto [logits, now] = net(last.reshape({1, batch}), states);
                states = now;
                return reshape(logits, {batch, 65});
              };
            });
          }};
}

BenchRow generate_transformer(const char* name, Index batch) {
  return {name, [=]() -> Step {
            Random random(1);
            const TransformerLm net(65, random, {.length = 1000});
            return generation(batch, [=] {
              return [=, caches = std::vector<AttentionCache>()](const Indices& last) mutable {
                return reshape(net(last.reshape({batch, 1}), {}, &caches), {batch, 65});
              };
            });
          }};
}

// Translates eight sentences of 24 tokens. No prefix ends before the last step: token 1, the end,
// is as improbable as all others.
BenchRow translate_beam() {
  return {"translate_beam", []() -> Step {
            Random random(1);
            const Translator net(8000, random, {.length = 32});
            const Indices source = random_tokens(8000, {8, 24}, random);
            const Indices lengths({8}, std::vector<Index>(8, 24));
            return [=] {
              net.translate(source, lengths, std::vector<Index>(8, 32), {.begin = 0, .end = 1});
            };
          }};
}

BenchRow classify_batch1() {
  return {"classify_batch1", []() -> Step {
            Random random(1);
            const TransformerClassifier net(8000, 2, random);
            const Indices ids = random_tokens(8000, {1, 32}, random), lengths({1}, {32});
            return [=] { net(ids, lengths); };
          }};
}

}  // namespace

std::vector<BenchRow> inference() {
  return {generate_lstm("generate_lstm", 1),
          generate_lstm("generate_lstm_b32", 32),
          generate_transformer("generate_transformer", 1),
          generate_transformer("generate_transformer_b32", 32),
          translate_beam(),
          classify_batch1()};
}

}  // namespace tapegrad::bench
