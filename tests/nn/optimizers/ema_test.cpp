#include "tapegrad/nn/optimizers/ema.h"

#include <catch2/catch.hpp>

#include "tapegrad/core/error.h"

using namespace tapegrad;

TEST_CASE("an exponential average follows the parameters", "[nn]") {
  Parameter w(zeros({2}));
  Ema average({w}, 0.75);
  const Tensor held = average.values()[0];
  w.set(ones({2}));
  average.update();
  CHECK(average.values()[0].data()[1] == Approx(0.9));
  w.set(full({2}, 2));
  average.update();
  CHECK(average.values()[0].data()[0] == Approx(0.9 * 2 / 11 + 2.0 * 9 / 11));
  CHECK(held.data()[0] == 0);
  average.swap();
  CHECK(w.value().data()[0] == Approx(1.8));
  CHECK(average.values()[0].data()[0] == 2);
  average.swap();
  CHECK(w.value().data()[0] == 2);
  CHECK_THROWS_AS(Ema({w}, 1), ArgumentError);
  average.restore({ones({2})});
  CHECK(average.values()[0].data()[0] == 1);
  CHECK_THROWS_WITH(average.restore({}), "ema: 0 values restored, 1 needed");
  CHECK_THROWS_WITH(average.restore({ones({3})}),
                    "ema: an average of shape (3) restored for parameter  of shape (2)");
}

TEST_CASE("the values at the start have no part in an average of a hundred updates", "[nn]") {
  Parameter w(zeros({}));
  Ema average({w}, 0.999);
  w.set(ones({}));
  for (int i = 0; i < 100; ++i) average.update();
  CHECK(average.values()[0].item() == Approx(1).epsilon(1e-9));
  CHECK(average.updates() == 100);
}

TEST_CASE("the average of a net has the average of its buffers", "[nn]") {
  struct Net {
    Parameter weight{zeros({1})};
    Buffer statistic{zeros({2})};
    void visit(Fields& field) const {
      field("weight", weight);
      field("statistic", statistic);
    }
  } net;
  Ema average(fields(net), 0.5);
  REQUIRE(average.values().size() == 2);
  net.statistic.set(ones({2}));
  average.update();
  average.swap();
  CHECK(net.statistic.value().data()[1] == Approx(0.9));
  average.swap();
  CHECK(net.statistic.value().data()[1] == 1);
  CHECK_THROWS_WITH(average.restore({ones({1}), ones({3})}),
                    "ema: an average of shape (3) restored for buffer 0 of shape (2)");
}
