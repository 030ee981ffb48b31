#include "tapegrad/cluster/cluster.h"

#include <algorithm>
#include <exception>

#include "tapegrad/cluster/internal/communicator.h"
#include "tapegrad/cluster/internal/shard_sum.h"
#include "tapegrad/core/options.h"
#include "tapegrad/ops/grad.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// Gradients leave in buckets of at least this many bytes.
constexpr std::size_t bucket_bytes = 1 << 20;

// Where the gradient of each parameter lies in one list. The last parameters come first, since
// their gradients are usually final first.
class Layout {
 public:
  explicit Layout(const std::vector<Parameter>& parameters) : begins_(parameters.size()) {
    for (std::size_t i = parameters.size(); i-- > 0;) {
      begins_[i] = size_;
      size_ += static_cast<std::size_t>(parameters[i].shape().size());
      if ((size_ - (bounds_.empty() ? 0 : bounds_.back())) * sizeof(real) >= bucket_bytes)
        bounds_.push_back(size_);
    }
    if (bounds_.empty() || bounds_.back() < size_) bounds_.push_back(size_);
  }
  std::size_t begin(std::size_t parameter) const { return begins_[parameter]; }
  std::size_t size() const { return size_; }
  /// The ends of the buckets.
  const std::vector<std::size_t>& bounds() const { return bounds_; }

 private:
  std::vector<std::size_t> begins_, bounds_;
  std::size_t size_ = 0;
};

// Hands the gradients of one shard to the sum, bucket by bucket, as soon as they are final.
class Buckets {
 public:
  Buckets(const std::vector<Parameter>& parameters, const Layout& layout, ShardSum<real>& sum)
      : layout_(layout), sum_(sum), list_(sum.next()), missing_(layout.bounds().size()) {
    for (std::size_t i = 0; i < parameters.size(); ++i) ++missing_[bucket_of(i)];
  }
  void add(std::size_t parameter, const Tensor& gradient) {
    std::copy(gradient.values().begin(), gradient.values().end(),
              list_.begin() + static_cast<std::ptrdiff_t>(layout_.begin(parameter)));
    --missing_[bucket_of(parameter)];
    while (next_ < missing_.size() && missing_[next_] == 0) send();
    sum_.advance();
  }
  /// A shard without rows.
  void add_nothing() {
    std::fill(list_.begin(), list_.end(), real{0});
    while (next_ < missing_.size()) send();
  }

 private:
  std::size_t bucket_of(std::size_t parameter) const {
    const auto& bounds = layout_.bounds();
    return std::upper_bound(bounds.begin(), bounds.end(), layout_.begin(parameter)) -
           bounds.begin();
  }
  void send() {
    sum_.ready(next_ == 0 ? 0 : layout_.bounds()[next_ - 1], layout_.bounds()[next_]);
    ++next_;
  }

  const Layout& layout_;
  ShardSum<real>& sum_;
  std::span<real> list_;
  std::vector<int> missing_;  // gradients of each bucket
  std::size_t next_ = 0;      // the bucket that leaves next
};

// The buffers of a net as one list.
class Buffers {
 public:
  explicit Buffers(const Fields& net) : buffers_(net.buffers()) {
    for (const auto& [name, buffer] : buffers_) before_.push_back(buffer.value());
  }
  std::size_t size() const {
    Index size = 0;
    for (const Tensor& value : before_) size += value.size();
    return static_cast<std::size_t>(size);
  }
  void restore() {
    for (std::size_t i = 0; i < buffers_.size(); ++i) buffers_[i].buffer.set(before_[i]);
  }
  void write_to(std::span<real> list, real weight) const {
    auto out = list.begin();
    for (const auto& [name, buffer] : buffers_)
      for (const real value : buffer.value().values()) *out++ = weight * value;
  }
  void read_from(std::span<const real> list) {
    std::size_t begin = 0;
    for (auto& [name, buffer] : buffers_) {
      const auto size = static_cast<std::size_t>(buffer.value().size());
      buffer.set(Tensor(buffer.value().shape(), list.subspan(begin, size)));
      begin += size;
    }
  }

 private:
  std::vector<NamedBuffer> buffers_;
  std::vector<Tensor> before_;
};

// Sums that are under way at once have tags of their own.
constexpr int value_tag = 0, buffer_tag = 2, gradient_tag = 4;

}  // namespace

Cluster::Cluster(ClusterOptions options)
    : communicator_(make_communicator()),
      shards_(options.shards == 0 ? communicator_->size() : options.shards),
      exceptions_(std::uncaught_exceptions()) {
  expect_same("the number of shards", std::to_string(shards_));
  expect<ArgumentError>(shards_ >= size(), "cluster: {} processes have only {} shards", size(),
                        shards_);
}

Cluster::~Cluster() {
  if (std::uncaught_exceptions() > exceptions_) communicator_->abandon();
}

bool Cluster::awaited() { return others_wait(); }

Index Cluster::rank() const { return communicator_->rank(); }
Index Cluster::size() const { return communicator_->size(); }

std::vector<Shard> Cluster::shards_of_batch(Index rows) const {
  expect_not_negative("cluster", "rows", rows);
  const Shards own = shards_of(rank(), size(), shards_);
  std::vector<Shard> shards;
  for (Index shard = own.begin; shard < own.end; ++shard)
    shards.push_back({shard, shard * rows / shards_, (shard + 1) * rows / shards_});
  return shards;
}

Cluster::BatchGradients Cluster::gradients(const Fields& net, Index rows,
                                           const std::function<Tensor(const Shard& shard)>& loss,
                                           const BatchOptions& options) {
  expect_positive("cluster", "rows", rows);
  const std::vector<Parameter> parameters = tapegrad::parameters(net);
  const Layout layout(parameters);
  Buffers buffers(net);
  std::vector<double> numbers = options.numbers;
  ShardSum<double> values(*communicator_, shards_, 1 + numbers.size(), value_tag);
  ShardSum<real> statistics(*communicator_, shards_, buffers.size(), buffer_tag);
  ShardSum<real> total(*communicator_, shards_, layout.size(), gradient_tag);
  for (const Shard& shard : shards_of_batch(rows)) {
    Buckets buckets(parameters, layout, total);
    const double weight = static_cast<double>(shard.count()) / static_cast<double>(rows);
    double value = 0;
    buffers.restore();
    if (shard.count() > 0) {
      const Tape tape(options.tape);
      const Tensor mean = loss(shard);
      value = weight * mean.item();
      buffers.write_to(statistics.next(), static_cast<real>(weight));
      grad(mean, parameters,
           {.seed = full(mean.shape(), weight),
            .ready = [&](std::size_t i, const Tensor& gradient) { buckets.add(i, gradient); }});
    } else {
      std::ranges::fill(statistics.next(), real{0});
      buckets.add_nothing();
    }
    const std::span<double> own = values.next();
    own[0] = value;
    std::ranges::copy(numbers, own.begin() + 1);
    values.ready(0, 1 + numbers.size());
    std::ranges::fill(numbers, 0);  // each process counts its numbers once
    statistics.ready(0, buffers.size());
  }
  buffers.read_from(statistics.wait());
  const std::span<const real> list = total.wait();
  const std::span<const double> all = values.wait();
  BatchGradients result{all[0], {}, {all.begin() + 1, all.end()}};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Shape& shape = parameters[i].shape();
    result.gradients.emplace_back(
        shape, list.subspan(layout.begin(i), static_cast<std::size_t>(shape.size())));
  }
  return result;
}

std::vector<double> Cluster::sums(
    Index rows, Index count, const std::function<std::vector<double>(const Shard& shard)>& values) {
  expect_not_negative("cluster", "count", count);
  const auto size = static_cast<std::size_t>(count);
  ShardSum<double> sum(*communicator_, shards_, size, value_tag);
  for (const Shard& shard : shards_of_batch(rows)) {
    const std::vector<double> own = shard.count() > 0 ? values(shard) : std::vector<double>(size);
    expect<ArgumentError>(own.size() == size, "cluster: a shard has {} values instead of {}",
                          own.size(), size);
    std::ranges::copy(own, sum.next().begin());
    sum.ready(0, size);
  }
  const std::span<const double> all = sum.wait();
  return {all.begin(), all.end()};
}

bool Cluster::any(bool here) {
  const std::vector<std::string> all = communicator_->gather(here ? "yes" : "");
  return std::any_of(all.begin(), all.end(), [](const std::string& text) { return !text.empty(); });
}

Tensor Cluster::gather(const Tensor& rows) {
  expect_defined("cluster", rows);
  expect(rows.shape().rank() >= 1, "cluster: a scalar has no rows: {}", rows.shape());
  const auto bytes = std::as_bytes(rows.values());
  std::string all;
  for (const std::string& text :
       communicator_->gather({reinterpret_cast<const char*>(bytes.data()), bytes.size()}))
    all += text;
  const Index size = rows.shape().with(0, 1).size();
  const auto count = static_cast<Index>(all.size() / sizeof(real));
  Tensor result = Tensor::uninitialized(rows.shape().with(0, size > 0 ? count / size : 0));
  std::copy_n(all.data(), all.size(), reinterpret_cast<char*>(result.mutable_data()));
  return result;
}

std::vector<std::string> Cluster::gather(const std::string& text) {
  return communicator_->gather(text);
}

void Cluster::broadcast(const Fields& net) {
  const auto send = [&](auto slot) {
    Tensor value(slot.value().shape(), slot.value().values());
    communicator_->broadcast(
        std::as_writable_bytes(std::span(value.mutable_data(), slot.value().values().size())));
    slot.set(value);
  };
  for (const auto& [name, parameter] : net.parameters()) send(parameter);
  for (const auto& [name, buffer] : net.buffers()) send(buffer);
}

void Cluster::expect_same(const std::string& what, const std::string& text) {
  const std::vector<std::string> all = communicator_->gather(text);
  for (std::size_t other = 1; other < all.size(); ++other)
    expect<Error>(all[other] == all[0],
                  "cluster: {} of process {} differs from process 0's: "
                  "{} and {}",
                  what, other, all[other], all[0]);
}

void Cluster::barrier() { communicator_->barrier(); }

}  // namespace tapegrad::TAPEGRAD_SCALAR
