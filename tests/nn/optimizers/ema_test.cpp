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
  CHECK(average.values()[0].data()[1] == Approx(0.25));
  w.set(full({2}, 2));
  average.update();
  CHECK(average.values()[0].data()[0] == Approx(0.75 * 0.25 + 0.5));
  CHECK(held.data()[0] == 0);
  average.swap();
  CHECK(w.value().data()[0] == Approx(0.6875));
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
