#include <tapegrad/cluster.h>

using namespace tapegrad;

int main() {
  Cluster cluster({.shards = 2});
  Random random(1);
  const Linear net(3, 1, random);
  const Tensor x = random.normal({4, 3});
  const auto batch = cluster.gradients(fields(net), 4, [&](const Shard& shard) {
    return mean(net(slice(x, 0, shard.begin, shard.end)));
  });
  return cluster.size() == 1 && batch.gradients.size() == 2 ? 0 : 1;
}
