#include "tapegrad/nn/net_state.h"

#include <catch2/catch.hpp>

#include "tapegrad/core/error.h"
#include "tapegrad/nn/optimizers/optimizer.h"

using namespace tapegrad;

namespace {

struct NetWithState {
  Parameter weight{Tensor({2}, {1, 2})};
  Buffer mean{Tensor({1}, {3})};

  void visit(Fields& field) const {
    field("weight", weight);
    field("mean", mean);
  }
};

}  // namespace

TEST_CASE("the state of a net stays while the net changes, and is exchanged with it", "[nn]") {
  NetWithState net;
  NetState state(fields(net));
  Sgd sgd({net.weight}, {.learning_rate = 1});
  sgd.step({Tensor({2}, {10, 20})});
  net.mean.set(Tensor({1}, {4}));
  CHECK(state.values()[0].data()[1] == 2);
  CHECK(state.values()[1].data()[0] == 3);
  state.swap();
  CHECK(net.weight.value().data()[1] == 2);
  CHECK(net.mean.value().data()[0] == 3);
  CHECK(state.values()[0].data()[1] == -18);
  CHECK(state.values()[1].data()[0] == 4);
  state.swap();
  CHECK(net.weight.value().data()[1] == -18);
  CHECK(net.mean.value().data()[0] == 4);
}

TEST_CASE("a state takes values of its shapes only", "[nn]") {
  NetWithState net;
  NetState state(fields(net));
  state.restore({Tensor({2}, {5, 6}), Tensor({1}, {7})});
  state.swap();
  CHECK(net.weight.value().data()[0] == 5);
  CHECK(net.mean.value().data()[0] == 7);
  CHECK_THROWS_WITH(state.restore({ones({2})}), "net state: 1 values restored, 2 needed");
  CHECK_THROWS_WITH(state.restore({ones({2}), ones({3})}),
                    "net state: a value of shape (3) restored for mean of shape (1)");
}
