// tapegrad in one file: reverse-mode automatic differentiation, from arrays to a Transformer.
//
// Read this file from top to bottom. Each part needs only the parts above it:
//
//    1. Shapes and tensors     arrays of numbers that never change
//    2. The tape               a list of the operations that ran, each with a rule per input
//    3. The sweep              the chain rule, from the last operation back to the first
//    4. Moving elements        take and put: layouts, broadcasting and sums
//    5. Element-wise functions
//    6. Matrix products
//    7. Sums, means, softmax and losses
//    8. Normalization          with statistics that the sweep may treat as constants
//    9. Sequences              the LSTM cell and causal attention
//   10. Optimizers             stochastic gradient descent and Adam
//   11. Higher derivatives and the gradient check
//
// The file needs C++20 and the standard library. All names and signatures are the library's, so a
// program that compiles with this file also compiles with <tapegrad/tapegrad.h> and prints the same
// numbers. The library is faster and has much more; README.md lists where it has each idea.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tapegrad {

// ---- 1. Shapes and tensors ----------------------------------------------------------------------

// The type of every element. Single precision is enough for training; double precision makes
// gradient checks sharp. Compile with -DTAPEGRAD_DOUBLE to get it.
#ifdef TAPEGRAD_DOUBLE
using real = double;
#else
using real = float;
#endif

// An extent, a position, a label or a token id.
using Index = std::int64_t;

// Errors are exceptions, and name the operation.
struct ShapeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct TapeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The extents of the axes of a tensor, outermost first. A scalar has no axes: its shape is ().
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<Index> extents) : Shape(std::span<const Index>(extents)) {}
  explicit Shape(std::span<const Index> extents) {
    for (const Index extent : extents) *this = insert(rank_, extent);
  }

  int rank() const { return rank_; }
  // The number of elements.
  Index size() const {
    Index product = 1;
    for (const Index extent : *this) product *= extent;
    return product;
  }
  // Axis -1 is the last axis.
  int resolve(int axis) const {
    if (axis < -rank_ || axis >= rank_) throw ShapeError("shape: there is no such axis");
    return axis < 0 ? axis + rank_ : axis;
  }
  Index operator[](int axis) const { return extents_[resolve(axis)]; }
  // This shape with one extent changed, without one axis, or with one axis more before `axis`.
  Shape with(int axis, Index extent) const {
    Shape changed = *this;
    changed.extents_[resolve(axis)] = extent;
    return changed;
  }
  Shape without(int axis) const {
    Shape changed = *this;
    std::shift_left(changed.extents_.begin() + resolve(axis), changed.extents_.end(), 1);
    changed.extents_[--changed.rank_] = 0;
    return changed;
  }
  Shape insert(int axis, Index extent) const {
    if (rank_ == std::ssize(extents_)) throw ShapeError("shape: too many axes");
    Shape changed = *this;
    std::shift_right(changed.extents_.begin() + axis, changed.extents_.end(), 1);
    changed.extents_[axis] = extent;
    ++changed.rank_;
    return changed;
  }
  const Index* begin() const { return extents_.data(); }
  const Index* end() const { return extents_.data() + rank_; }
  bool operator==(const Shape& other) const = default;

 private:
  std::array<Index, 8> extents_ = {};
  int rank_ = 0;
};

inline std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (const Index extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + ")";
}
// Throws an error that names the operation and the shapes that do not fit, unless they do.
inline void expect(bool fits, const char* operation, const Shape& a, const Shape& b) {
  if (!fits)
    throw ShapeError(operation + (": shapes do not fit: " + to_string(a)) + " and " + to_string(b));
}

// An array of numbers in row-major order: the last axis is contiguous in memory. A tensor is
// immutable. Copies therefore share the numbers, and an operation may keep its inputs at no cost
// until the sweep needs them.
//
// A tensor has the number of its node on the tape (part 2), not the node. So it outlives the tape.
class Tensor {
 public:
  // No value at all.
  Tensor() = default;
  // A scalar. The conversion is implicit, so that `2 * x` means what it says.
  Tensor(double value) : Tensor(Shape{}, {real(value)}) {}
  Tensor(const Shape& shape, std::vector<real> values)
      : values_(std::make_shared<std::vector<real>>(std::move(values))), shape_(shape) {
    expect(std::ssize(*values_) == shape.size(), "tensor", {std::ssize(*values_)}, shape);
  }
  // A new tensor, to be filled through `mutable_data` before anyone else sees it.
  static Tensor uninitialized(const Shape& shape) {
    return Tensor(shape, std::vector<real>(shape.size()));
  }

  bool defined() const { return values_ != nullptr; }
  const Shape& shape() const { return shape_; }
  Index size() const { return shape_.size(); }
  const real* data() const { return values_ ? values_->data() : nullptr; }
  std::span<const real> values() const { return {data(), std::size_t(defined() ? size() : 0)}; }
  // The value of a tensor with one element.
  real item() const {
    expect(size() == 1, "item", shape_, {});
    return data()[0];
  }
  real* mutable_data() {
    if (values_.use_count() != 1) throw std::logic_error("mutable_data: the values are shared");
    return values_->data();
  }
  // Gives the same numbers another shape, on no tape.
  Tensor view(const Shape& shape) const {
    expect(shape.size() == size(), "view", shape_, shape);
    Tensor result;
    result.values_ = values_;
    result.shape_ = shape;
    return result;
  }

  // The tape that recorded this tensor (0: none), and its node there.
  std::uint64_t tape_id() const { return tape_id_; }
  int node() const { return node_; }

 private:
  friend class Tape;
  std::shared_ptr<std::vector<real>> values_;
  Shape shape_;
  std::uint64_t tape_id_ = 0;
  int node_ = -1;
};

inline Tensor full(const Shape& shape, double value) {
  return Tensor(shape, std::vector<real>(shape.size(), value));
}
inline Tensor zeros(const Shape& shape) { return full(shape, 0); }
inline Tensor ones(const Shape& shape) { return full(shape, 1); }

// An immutable array of labels, token ids or positions, which have no derivative.
class Indices {
 public:
  Indices(const Shape& shape, std::vector<Index> values)
      : values_(std::make_shared<const std::vector<Index>>(std::move(values))), shape_(shape) {
    expect(std::ssize(*values_) == shape.size(), "indices", {std::ssize(*values_)}, shape);
  }
  const Shape& shape() const { return shape_; }
  Index size() const { return shape_.size(); }
  const Index* data() const { return values_->data(); }
  std::span<const Index> values() const { return *values_; }

 private:
  std::shared_ptr<const std::vector<Index>> values_;
  Shape shape_;
};

// ---- 2. The tape --------------------------------------------------------------------------------

// A value that training changes. Copies share one slot, so a net and its optimizer see the same
// value. Used where a tensor is expected, a parameter becomes a leaf of the tape (see below).
class Parameter {
 public:
  explicit Parameter(const Tensor& value) : slot_(std::make_shared<Slot>(Slot{value, {}})) {}
  operator Tensor() const;
  const Tensor& value() const { return slot_->value; }
  const Shape& shape() const { return slot_->value.shape(); }
  void set(const Tensor& value) {
    expect(value.shape() == shape(), "parameter", shape(), value.shape());
    slot_->value = value.view(shape());
  }

 private:
  struct Slot {
    Tensor value;
    Tensor leaf;  // on the tape that has used the parameter last
  };
  std::shared_ptr<Slot> slot_;
};

// The rule of an input takes the gradient g of the output and returns the gradient of the input.
// For y = f(x) and a loss l, the chain rule is dl/dx = f'(x)^T dl/dy. A Rule computes this product
// without ever forming the matrix f'(x).
using Rule = std::function<Tensor(const Tensor& g)>;

// An input of an operation, with its rule.
struct Edge {
  Tensor input;
  Rule rule;
};
inline Edge edge(const Tensor& x, Rule rule) { return {x, std::move(rule)}; }

// An operation that ran. A leaf has no edges. The value is not here: a rule keeps what it needs.
struct Node {
  const char* name;
  std::vector<Edge> edges;
};

// The operations in the order in which they ran. The inputs of a node come before the node, so
// walking the list backward meets every node after all nodes that use it. No sorting, no recursion.
//
// A tape belongs to a scope. While the scope lasts, operations on tensors of the tape are recorded.
class Tape {
 public:
  Tape() : id_(++last_id_) {
    if (current_ != nullptr) throw TapeError("tape: another one is in scope");
    current_ = this;
  }
  ~Tape() { current_ = nullptr; }
  // The tape in scope, or null without a tape or under NoGrad.
  static Tape* active() { return paused_ ? nullptr : current_; }

  std::uint64_t id() const { return id_; }
  std::size_t size() const { return nodes_.size(); }
  const Node& node(int index) const { return *nodes_[index]; }
  // Whether a tensor is on this tape. A tensor of another tape is a mistake: its history is gone,
  // and a constant in its place would silently lose a gradient.
  bool holds(const Tensor& x) const {
    if (x.tape_id() != 0 && x.tape_id() != id_)
      throw TapeError("tape: a tensor of another tape, which has ended; detach it");
    return x.tape_id() == id_;
  }
  // Adds a node, and returns its value as a tensor of this tape.
  Tensor enter(const char* name, Tensor value, std::vector<Edge> edges) {
    value.tape_id_ = id_;
    value.node_ = nodes_.size();
    nodes_.push_back(std::make_unique<Node>(Node{name, std::move(edges)}));
    return value;
  }

 private:
  friend class NoGrad;
  static inline Tape* current_ = nullptr;
  static inline bool paused_ = false;
  static inline std::uint64_t last_id_ = 0;

  std::uint64_t id_;
  std::vector<std::unique_ptr<Node>> nodes_;  // they stay in place while a sweep adds others
};

// While in scope, nothing is recorded.
class NoGrad {
 public:
  ~NoGrad() { Tape::paused_ = before_; }

 private:
  bool before_ = std::exchange(Tape::paused_, true);
};

// All uses of a parameter on a tape share one leaf, so the gradients of all uses add up there.
inline Parameter::operator Tensor() const {
  Tape* tape = Tape::active();
  if (tape == nullptr) return value();
  if (slot_->leaf.tape_id() != tape->id()) slot_->leaf = tape->enter("parameter", value(), {});
  return slot_->leaf;
}

// x as a leaf of the tape, so that `grad` can return its gradient, unless x is on the tape already.
inline Tensor watch(const Tensor& x) {
  Tape* tape = Tape::active();
  if (tape == nullptr) throw TapeError("watch: no tape is in scope");
  return tape->holds(x) ? x : tape->enter("watch", x.view(x.shape()), {});  // a view is on no tape
}

// The value of x as a constant: a view is on no tape, so the sweep ends here. No gradient goes to
// what x was computed from. Part 8 shows what this small function can change.
inline Tensor detach(const Tensor& x) { return x.view(x.shape()); }

// A line of a program, which the library prints in error messages; this file does not use it.
struct Place {
  static constexpr Place here() { return {}; }
};

// Enters `value`, computed from the inputs of these edges. Without a tape, or if all inputs are
// constants, the result is a constant as well: a constant costs no node.
inline Tensor record_edges(const char* name, const Tensor& value, const std::vector<Edge>& edges) {
  Tape* tape = Tape::active();
  if (tape == nullptr) return value;
  std::vector<Edge> kept;
  for (const Edge& each : edges)
    if (tape->holds(each.input)) kept.push_back(each);
  return kept.empty() ? value : tape->enter(name, value, std::move(kept));
}
// Every operation ends with this call. A program can add an operation of its own with it.
template <class... Edges>
Tensor record(const char* name, const Tensor& value, Place, const Edges&... edges) {
  return record_edges(name, value, {edges...});
}

// ---- 3. The sweep -------------------------------------------------------------------------------

// The sweep adds up gradients, so it needs this one operation. Part 5 has the definition.
Tensor operator+(const Tensor& a, const Tensor& b);

struct GradOptions {
  Tensor seed = {};     // the gradient of y; if left out, y must have one element, and it is 1
  bool record = false;  // record the sweep as well, for derivatives of gradients
};

// The gradients of y with respect to each x, by one walk over the tape from y to its beginning.
//
// The gradient of a node is complete when the walk arrives there, since all nodes that use the node
// come after it. The node's rules then pass the gradient on to the inputs. An input that is used
// several times receives several gradients, and they add up.
//
// Rules consist of operations. With `record`, the tape therefore simply goes on recording while the
// sweep runs, and the gradients are tensors of the tape like any other: `grad` of a gradient is the
// second derivative. Nothing else is needed for higher derivatives.
inline std::vector<Tensor> grad(const Tensor& y, const std::vector<Tensor>& xs,
                                const GradOptions& options = {}) {
  Tape* tape = Tape::active();
  if (tape == nullptr) throw TapeError("grad: no tape is in scope");
  if (!tape->holds(y)) throw TapeError("grad: y is not on the tape");
  expect(options.seed.defined() ? options.seed.shape() == y.shape() : y.size() == 1,
         "grad: seed and y", options.seed.shape(), y.shape());

  // Mark the nodes that depend on some x. The walk leaves out all others: they lead to no x.
  std::vector<char> depends(tape->size());
  for (const Tensor& x : xs) {
    if (!tape->holds(x)) throw TapeError("grad: an x is not on the tape");
    depends[x.node()] = true;
  }
  for (int n = 0; n <= y.node(); ++n)
    for (const Edge& each : tape->node(n).edges)
      if (depends[each.input.node()]) depends[n] = true;

  std::unique_ptr<NoGrad> pause = options.record ? nullptr : std::make_unique<NoGrad>();
  std::vector<Tensor> gradients(depends.size());
  gradients[y.node()] = options.seed.defined() ? options.seed : ones(y.shape());
  for (int n = y.node(); n >= 0; --n) {
    if (!gradients[n].defined()) continue;
    for (const Edge& each : tape->node(n).edges) {
      if (!depends[each.input.node()]) continue;
      const Tensor part = each.rule(gradients[n]);
      Tensor& sum = gradients[each.input.node()];
      sum = sum.defined() ? sum + part : part;
    }
  }

  std::vector<Tensor> result;
  for (const Tensor& x : xs) {
    const Tensor& gradient = gradients[x.node()];  // undefined if y does not depend on x
    result.push_back(gradient.defined() ? gradient : zeros(x.shape()));
  }
  return result;
}
inline Tensor grad(const Tensor& y, const Tensor& x, const GradOptions& options = {}) {
  return grad(y, std::vector<Tensor>{x}, options)[0];
}
inline std::vector<Tensor> grad(const Tensor& y, const std::vector<Parameter>& xs,
                                const GradOptions& options = {}) {
  return grad(y, std::vector<Tensor>(xs.begin(), xs.end()), options);
}

// ---- 4. Moving elements -------------------------------------------------------------------------

// Two operations move elements, and each is the rule of the other:
//
//   take   result[i] = x[positions[i]]        reads each element any number of times
//   put    result[positions[i]] += x[i]       adds up whatever arrives at one place
//
// If an element was read three times, three gradients come back to its place and add up. As
// matrices, take and put are transposes of each other. Everything else in this part only computes
// positions: slices, transposition, lookups in tables, broadcasting, sums.
Tensor put(const Tensor& x, const Indices& positions, const Shape& shape);

inline Tensor take(const Tensor& x, const Indices& positions) {
  Tensor value = Tensor::uninitialized(positions.shape());
  real* to = value.mutable_data();
  for (Index i = 0; i < positions.size(); ++i) {
    const Index from = positions.data()[i];
    if (from < 0 || from >= x.size()) throw ShapeError("take: no such position");
    to[i] = x.data()[from];
  }
  return record("take", value, Place::here(),
                edge(x, [positions, shape = x.shape()](const Tensor& g) {
                  return put(g, positions, shape);
                }));
}

// Sums here and in products are in double precision, so the order of their terms hardly matters.
inline Tensor put(const Tensor& x, const Indices& positions, const Shape& shape) {
  std::vector<double> sums(shape.size());
  for (Index i = 0; i < x.size(); ++i) {
    const Index to = positions.data()[i];
    if (to < 0 || to >= shape.size()) throw ShapeError("put: no such position");
    sums[to] += x.data()[i];
  }
  const Tensor value(shape, std::vector<real>(sums.begin(), sums.end()));
  return record("put", value, Place::here(),
                edge(x, [positions](const Tensor& g) { return take(g, positions); }));
}

inline Tensor reshape(const Tensor& x, const Shape& shape) {
  return record("reshape", x.view(shape), Place::here(),
                edge(x, [from = x.shape()](const Tensor& g) { return reshape(g, from); }));
}

// The stride of an axis is the distance in memory between neighbors along the axis.
inline std::vector<Index> strides(const Shape& shape) {
  std::vector<Index> result(shape.rank(), 1);
  for (int axis = shape.rank() - 1; axis > 0; --axis) result[axis - 1] = result[axis] * shape[axis];
  return result;
}

// Positions in row-major order of `shape`: element (i, j, ...) stands at first + i s0 + j s1 + ...
// A stride of 0 reads the same element again, which is broadcasting.
inline Indices walk(const Shape& shape, const std::vector<Index>& strides, Index first = 0) {
  std::vector<Index> positions, at(shape.rank());
  positions.reserve(shape.size());
  for (Index i = 0, position = first; i < shape.size(); ++i) {
    positions.push_back(position);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {  // count up like an odometer
      position += strides[axis];
      if (++at[axis] < shape[axis]) break;
      position -= strides[axis] * shape[axis];
      at[axis] = 0;
    }
  }
  return Indices(shape, std::move(positions));
}

inline Tensor transpose(const Tensor& x, int first = -2, int second = -1) {
  const int a = x.shape().resolve(first), b = x.shape().resolve(second);
  std::vector<Index> steps = strides(x.shape());
  std::swap(steps[a], steps[b]);
  return take(x, walk(x.shape().with(a, x.shape()[b]).with(b, x.shape()[a]), steps));
}
// Elements [begin, end) of an axis.
inline Tensor slice(const Tensor& x, int axis, Index begin, Index end) {
  expect(0 <= begin && begin <= end && end <= x.shape()[axis], "slice", {begin, end}, x.shape());
  const std::vector<Index> steps = strides(x.shape());
  const int resolved = x.shape().resolve(axis);
  return take(x, walk(x.shape().with(axis, end - begin), steps, begin * steps[resolved]));
}
// Joins tensors along an axis. Each part receives its own slice of the gradient.
inline Tensor concat(const std::vector<Tensor>& parts, int axis = 0) {
  Index extent = 0;
  for (const Tensor& part : parts) extent += part.shape()[axis];
  const Shape shape = parts.at(0).shape().with(axis, extent);
  const std::vector<Index> steps = strides(shape);
  std::vector<real> values(shape.size());
  std::vector<Edge> edges;
  Index begin = 0;
  for (const Tensor& part : parts) {
    const Index end = begin + part.shape()[axis];
    const Indices to = walk(part.shape(), steps, begin * steps[shape.resolve(axis)]);
    for (Index i = 0; i < part.size(); ++i) values[to.data()[i]] = part.data()[i];
    edges.push_back(edge(part, [=](const Tensor& g) { return slice(g, axis, begin, end); }));
    begin = end;
  }
  return record_edges("concat", Tensor(shape, std::move(values)), edges);
}

// Rows of a table.   table: (V, C)   ids: any shape   returns ids.shape + (C)
inline Tensor embedding(const Tensor& table, const Indices& ids) {
  const Index width = table.shape()[1];
  std::vector<Index> positions;
  for (const Index id : ids.values())
    for (Index column = 0; column < width; ++column) positions.push_back(id * width + column);
  return take(table, Indices(ids.shape().insert(ids.shape().rank(), width), positions));
}
// One element of each row.   x: (..., C)   labels: (...)   returns (...)
inline Tensor pick(const Tensor& x, const Indices& labels) {
  const Index width = x.shape()[-1];
  std::vector<Index> positions;
  for (Index row = 0; row < labels.size(); ++row)
    positions.push_back(row * width + labels.data()[row]);
  return take(x, Indices(labels.shape(), positions));
}

// Broadcasting by NumPy's rule: shapes are aligned at the last axis, and an extent of 1 stretches.
inline Shape broadcast(const char* operation, const Shape& a, const Shape& b) {
  if (a.rank() < b.rank()) return broadcast(operation, b, a);
  Shape result = a;
  for (int axis = -1; axis >= -b.rank(); --axis) {
    if (a[axis] == b[axis] || b[axis] == 1) continue;
    expect(a[axis] == 1, operation, a, b);
    result = result.with(axis, b[axis]);
  }
  return result;
}
// Where each element of `to` comes from.
inline Indices broadcast_positions(const Shape& from, const Shape& to) {
  expect(broadcast("broadcast_to", from, to) == to, "broadcast_to", from, to);
  const std::vector<Index> own = strides(from);
  std::vector<Index> steps(to.rank());
  for (int axis = 0; axis < from.rank(); ++axis)
    if (from[axis] != 1) steps[axis + to.rank() - from.rank()] = own[axis];
  return walk(to, steps);
}
// Stretching reads elements repeatedly, and summing adds up what was stretched: take and put again.
inline Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  return x.shape() == shape ? x : take(x, broadcast_positions(x.shape(), shape));
}
inline Tensor sum_to(const Tensor& x, const Shape& shape) {
  return x.shape() == shape ? x : put(x, broadcast_positions(shape, x.shape()), shape);
}

// ---- 5. Element-wise functions ------------------------------------------------------------------

// The values of f, element by element, on no tape. The operations below add names and rules.
template <class F>
Tensor map(const Tensor& x, F f) {
  Tensor y = Tensor::uninitialized(x.shape());
  real* values = y.mutable_data();
  for (Index i = 0; i < x.size(); ++i) values[i] = f(x.data()[i]);
  return y;
}
template <class F>
Tensor map(const char* operation, const Tensor& a, const Tensor& b, F f) {
  const Shape shape = broadcast(operation, a.shape(), b.shape());
  const Tensor left = broadcast_to(detach(a), shape), right = broadcast_to(detach(b), shape);
  Tensor y = Tensor::uninitialized(shape);
  real* values = y.mutable_data();
  for (Index i = 0; i < y.size(); ++i) values[i] = f(left.data()[i], right.data()[i]);
  return y;
}

// The operators. Numbers and parameters convert to tensors, so these accept them as well. A rule
// gets a gradient in the shape of the result. If its operand was stretched to this shape, `sum_to`
// adds up the gradients of the copies.
inline Tensor operator-(const Tensor& x) {
  return record("neg", map(x, [](real v) { return -v; }), Place::here(),
                edge(x, [](const Tensor& g) { return -g; }));
}
inline Tensor operator+(const Tensor& a, const Tensor& b) {
  return record("add", map("add", a, b, [](real x, real y) { return x + y; }), Place::here(),
                edge(a, [s = a.shape()](const Tensor& g) { return sum_to(g, s); }),
                edge(b, [s = b.shape()](const Tensor& g) { return sum_to(g, s); }));
}
inline Tensor operator-(const Tensor& a, const Tensor& b) {
  return record("sub", map("sub", a, b, [](real x, real y) { return x - y; }), Place::here(),
                edge(a, [s = a.shape()](const Tensor& g) { return sum_to(g, s); }),
                edge(b, [s = b.shape()](const Tensor& g) { return sum_to(-g, s); }));
}
// The rules refer to a and b as tensors of the tape. In a recorded sweep, the product of g and b
// therefore depends on b, which is what the second derivative needs.
inline Tensor operator*(const Tensor& a, const Tensor& b) {
  return record("mul", map("mul", a, b, [](real x, real y) { return x * y; }), Place::here(),
                edge(a, [a, b](const Tensor& g) { return sum_to(g * b, a.shape()); }),
                edge(b, [a, b](const Tensor& g) { return sum_to(g * a, b.shape()); }));
}
// d(a/b)/da = 1/b, and d(a/b)/db = -(a/b)/b.
inline Tensor operator/(const Tensor& a, const Tensor& b) {
  return record("div", map("div", a, b, [](real x, real y) { return x / y; }), Place::here(),
                edge(a, [a, b](const Tensor& g) { return sum_to(g / b, a.shape()); }),
                edge(b, [a, b](const Tensor& g) { return sum_to(-(g * (a / b) / b), b.shape()); }));
}
inline Tensor& operator+=(Tensor& a, const Tensor& b) { return a = a + b; }

// Some derivatives contain the function: e^x is its own, and the derivative of tanh is 1 - tanh^2.
inline Tensor exp(const Tensor& x) {
  return record("exp", map(x, [](real v) { return std::exp(v); }), Place::here(),
                edge(x, [x](const Tensor& g) { return g * exp(x); }));
}
inline Tensor log(const Tensor& x) {
  return record("log", map(x, [](real v) { return std::log(v); }), Place::here(),
                edge(x, [x](const Tensor& g) { return g / x; }));
}
inline Tensor sqrt(const Tensor& x) {
  return record("sqrt", map(x, [](real v) { return std::sqrt(v); }), Place::here(),
                edge(x, [x](const Tensor& g) { return g / (2 * sqrt(x)); }));
}
Tensor cos(const Tensor& x);
inline Tensor sin(const Tensor& x) {
  return record("sin", map(x, [](real v) { return std::sin(v); }), Place::here(),
                edge(x, [x](const Tensor& g) { return g * cos(x); }));
}
inline Tensor cos(const Tensor& x) {
  return record("cos", map(x, [](real v) { return std::cos(v); }), Place::here(),
                edge(x, [x](const Tensor& g) { return g * -sin(x); }));
}
inline Tensor tanh(const Tensor& x) {
  return record("tanh", map(x, [](real v) { return std::tanh(v); }), Place::here(),
                edge(x, [x](const Tensor& g) { return g * (1 - tanh(x) * tanh(x)); }));
}
inline Tensor sigmoid(const Tensor& x) {
  return record("sigmoid", map(x, [](real v) { return 1 / (1 + std::exp(-v)); }), Place::here(),
                edge(x, [x](const Tensor& g) { return g * sigmoid(x) * (1 - sigmoid(x)); }));
}
// 0 where y <= 0, otherwise g; 0 * g would be NaN for an infinite g. The slope in y is 0: no edge.
inline Tensor gate(const Tensor& g, const Tensor& y) {
  return record("gate", map("gate", g, y, [](real a, real v) { return v <= 0 ? 0 : a; }),
                Place::here(), edge(g, [y](const Tensor& gg) { return gate(gg, y); }));
}
// The slopes of |x| and max(x, 0) are constant on each side of 0, where both rules take 0.
inline Tensor abs(const Tensor& x) {
  return record("abs", map(x, [](real v) { return std::abs(v); }), Place::here(),
                edge(x, [x](const Tensor& g) { return gate(g, x) - gate(g, -x); }));
}
inline Tensor relu(const Tensor& x) {
  return record("relu", map(x, [](real v) { return v <= 0 ? 0 : v; }), Place::here(),
                edge(x, [x](const Tensor& g) { return gate(g, x); }));
}

// A function composed of operations needs no rule: the tape records the operations.
inline Tensor square(const Tensor& x) { return x * x; }
inline Tensor gelu_tanh(const Tensor& x) {     // Hendrycks and Gimpel 2016
  const double root = 0.79788456080286535588;  // sqrt(2 / pi)
  return 0.5 * x * (1 + tanh(root * (x + 0.044715 * x * x * x)));
}

// ---- 6. Matrix products -------------------------------------------------------------------------

// Which operands to read with their last two axes swapped.
struct Transposed {
  bool a = false, b = false;
};

// The products of a batch of matrices:   a: (N, m, k)   b: (N, k, n)   returns (N, m, n)
//
// For C = A B, the chain rule gives dA = dC B^T and dB = A^T dC. Both are products again, with
// other operands transposed, so this operation is closed under differentiation: its derivatives of
// every order need nothing else. An operand that is stored transposed gets a transposed gradient.
inline Tensor batch_product(const Tensor& a, const Tensor& b, Transposed t) {
  const Index m = a.shape()[t.a ? 2 : 1], k = a.shape()[t.a ? 1 : 2], n = b.shape()[t.b ? 1 : 2];
  const Index a_row = t.a ? 1 : k, a_column = t.a ? m : 1;
  const Index b_row = t.b ? 1 : n, b_column = t.b ? k : 1;
  Tensor value = Tensor::uninitialized({a.shape()[0], m, n});
  real* to = value.mutable_data();
  for (Index batch = 0; batch < a.shape()[0]; ++batch)
    for (Index i = 0; i < m; ++i)
      for (Index column = 0; column < n; ++column) {
        const real* left = a.data() + batch * m * k + i * a_row;
        const real* right = b.data() + batch * k * n + column * b_column;
        double sum = 0;
        for (Index j = 0; j < k; ++j) sum += double(left[j * a_column]) * right[j * b_row];
        *to++ = sum;
      }
  const Rule rule_a = [a, b, t](const Tensor& g) {
    return t.a ? batch_product(b, g, {t.b, true}) : batch_product(g, b, {false, !t.b});
  };
  const Rule rule_b = [a, b, t](const Tensor& g) {
    return t.b ? batch_product(g, a, {true, t.a}) : batch_product(a, g, {!t.a, false});
  };
  return record("matmul", value, Place::here(), edge(a, rule_a), edge(b, rule_b));
}

// The product over the last two axes.   a: (..., m, k)   b: (..., k, n)   returns (..., m, n)
// The leading axes broadcast.
inline Tensor matmul(const Tensor& a, const Tensor& b, Transposed transposed = {}) {
  expect(a.shape()[transposed.a ? -2 : -1] == b.shape()[transposed.b ? -1 : -2], "matmul",
         a.shape(), b.shape());
  const auto leading = [](const Tensor& x) { return x.shape().without(-1).without(-1); };
  const auto matrices = [](const Tensor& x, const Shape& lead) {  // (N, rows, columns)
    const Index rows = x.shape()[-2], columns = x.shape()[-1];
    const Shape shape = lead.insert(lead.rank(), rows).insert(lead.rank() + 1, columns);
    return reshape(broadcast_to(x, shape), {lead.size(), rows, columns});
  };
  if (b.shape().rank() == 2 && !transposed.a) {  // one matrix for all rows of a: no copies of b
    const Tensor rows = reshape(a, {1, a.size() / a.shape()[-1], a.shape()[-1]});
    const Tensor product = batch_product(rows, matrices(b, {}), transposed);
    return reshape(product, a.shape().with(-1, product.shape()[2]));
  }
  const Shape lead = broadcast("matmul", leading(a), leading(b));
  const Tensor product = batch_product(matrices(a, lead), matrices(b, lead), transposed);
  return reshape(
      product,
      lead.insert(lead.rank(), product.shape()[1]).insert(lead.rank() + 1, product.shape()[2]));
}

// A layer of a net.   x: (..., in)   weight: (in, out)   bias: (out)   returns (..., out)
inline Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return matmul(x, weight) + bias;
}

// ---- 7. Sums, means, softmax and losses ---------------------------------------------------------

// Whether to keep a reduced axis, with extent 1. A kept axis broadcasts against the input.
enum class Keep { no, yes };

// Over one axis, and over all.
inline Tensor sum(const Tensor& x, int axis, Keep keep = Keep::no) {
  const Tensor kept = sum_to(x, x.shape().with(axis, 1));
  return keep == Keep::yes ? kept : reshape(kept, x.shape().without(axis));
}
inline Tensor sum(const Tensor& x) { return sum_to(x, {}); }
inline Tensor mean(const Tensor& x, int axis, Keep keep = Keep::no) {
  return sum(x, axis, keep) / double(x.shape()[axis]);
}
inline Tensor mean(const Tensor& x) { return sum(x) / double(x.size()); }

// The position of the first greatest element of each row.
inline Indices argmax(const Tensor& x) {
  const Index width = x.shape()[-1];
  std::vector<Index> positions;
  for (const real* row = x.data(); row != x.data() + x.size(); row += width)
    positions.push_back(std::max_element(row, row + width) - row);
  return Indices(x.shape().without(-1), positions);
}

// log softmax(x) along the last axis: x - log sum e^x. Subtracting the greatest element first
// changes nothing in exact arithmetic, and e^x cannot overflow. The shift is a constant for the
// sweep, because the result does not depend on it.
inline Tensor log_softmax(const Tensor& x) {
  const Tensor shifted = x - reshape(pick(detach(x), argmax(x)), x.shape().with(-1, 1));
  return shifted - log(sum(exp(shifted), -1, Keep::yes));
}
inline Tensor softmax(const Tensor& x) {
  const Tensor powers = exp(x - reshape(pick(detach(x), argmax(x)), x.shape().with(-1, 1)));
  return powers / sum(powers, -1, Keep::yes);
}

// The mean of -log softmax(logits)[label] over all rows.   logits: (..., C)   labels: (...)
// The sweep arrives at the well-known gradient (softmax - one hot) / rows.
inline Tensor cross_entropy(const Tensor& logits, const Indices& labels) {
  const Shape rows = logits.shape().without(-1);
  expect(rows == labels.shape(), "cross_entropy", rows, labels.shape());
  return -mean(pick(log_softmax(logits), labels));
}
inline Tensor mse(const Tensor& x, const Tensor& target) { return mean(square(x - target)); }

// ---- 8. Normalization ---------------------------------------------------------------------------

struct NormOptions {
  double epsilon = 1e-5;
  bool detach_mean = false;   // the sweep treats the mean as a constant
  bool detach_scale = false;  // and likewise the deviation
};

// Layer normalization: each row gets mean 0 and variance 1 (Ba et al. 2016, eq. 3).
//
// With z = (x - mu) / s, the gradient has three paths to x: direct, through the mean mu, and
// through the deviation s. The path through mu subtracts the mean of the gradient, which re-centers
// it. The path through s subtracts the part of the gradient along z, which re-scales it. Detaching
// a statistic removes its path while the value stays the same: four forms, by two switches (Xu et
// al. 2019, section 3.3). No gradient reaches mu through s: dv/dmu = -2 mean(x - mu) = 0.
inline Tensor layer_norm(const Tensor& x, const NormOptions& options = {}) {
  const Tensor mu = mean(x, -1, Keep::yes);
  const Tensor s = sqrt(mean(square(x - mu), -1, Keep::yes) + options.epsilon);
  return (x - (options.detach_mean ? detach(mu) : mu)) / (options.detach_scale ? detach(s) : s);
}
// Divides each row by its root mean square (Zhang and Sennrich 2019, eq. 4). There is no mean.
inline Tensor rms_norm(const Tensor& x, const NormOptions& options = {.epsilon = 1e-6}) {
  const Tensor s = sqrt(mean(square(x), -1, Keep::yes) + options.epsilon);
  return x / (options.detach_scale ? detach(s) : s);
}

// ---- 9. Sequences -------------------------------------------------------------------------------

// What a recurrent layer remembers: the output h and the memory c, each (batch, hidden).
struct RecurrentState {
  Tensor h, c;
};
// Long short-term memory. The memory c changes by a sum, c' = f c + i g, so while the forget gate f
// is open, the gradient passes from step to step without shrinking.
//   inputs: (B, 4 hidden), for the gates i, f, g, o   weight: (hidden, 4 hidden)
inline RecurrentState lstm_step(const Tensor& inputs, const Tensor& weight,
                                const RecurrentState& state) {
  const Index hidden = weight.shape()[0];
  const Tensor gates = inputs + matmul(state.h, weight);
  const auto gate = [&](Index i) { return slice(gates, -1, i * hidden, (i + 1) * hidden); };
  const Tensor c = sigmoid(gate(1)) * state.c + sigmoid(gate(0)) * tanh(gate(2));
  return {sigmoid(gate(3)) * tanh(c), c};
}

// The library has other cells as well.
enum class Cell { lstm };

struct RecurrentResult {
  Tensor outputs;  // h after each step: (T, B, hidden)
  RecurrentState last;
};
// A recurrent layer over a sequence.   inputs: (T, B, 4 hidden)   weight: (hidden, 4 hidden)
// The loop is ordinary C++: the tape records the steps that ran, and the sweep goes back through
// them.
inline RecurrentResult recurrent(Cell, const Tensor& inputs, const Tensor& weight,
                                 const RecurrentState& first) {
  RecurrentState state = first;
  std::vector<Tensor> outputs;
  for (Index step = 0; step < inputs.shape()[0]; ++step) {
    const Tensor now = reshape(slice(inputs, 0, step, step + 1), inputs.shape().without(0));
    state = lstm_step(now, weight, state);
    outputs.push_back(reshape(state.h, state.h.shape().insert(0, 1)));
  }
  return {concat(outputs), state};
}

struct AttentionOptions {
  Index heads = 1;
  bool causal = false;  // a query sees only keys up to its own position
};
// Scaled dot-product attention, softmax(q k^T / sqrt(d)) v in each head (Vaswani et al. 2017).
//   q: (B, Tq, C)   k, v: (B, Tk, C), the heads side by side   returns (B, Tq, C)
// A hidden key gets the score -inf, so its weight e^-inf is exactly 0, and so is its gradient.
inline Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                        const AttentionOptions& options = {}) {
  const Index size = q.shape()[-1] / options.heads;
  const auto by_head = [&](const Tensor& x) {  // (B, heads, T, size)
    return transpose(reshape(x, {x.shape()[0], x.shape()[1], options.heads, size}), 1, 2);
  };
  Tensor scores = matmul(by_head(q), by_head(k), {.b = true}) / std::sqrt(double(size));
  if (options.causal) {
    const Index queries = q.shape()[1], keys = k.shape()[1];
    Tensor mask = Tensor::uninitialized({queries, keys});
    for (Index i = 0; i < mask.size(); ++i) {
      const bool seen = i % keys <= i / keys + keys - queries;
      mask.mutable_data()[i] = seen ? 0 : -INFINITY;
    }
    scores += mask;
  }
  return reshape(transpose(matmul(softmax(scores), by_head(v)), 1, 2), q.shape());
}

// ---- 10. Optimizers -----------------------------------------------------------------------------

struct SgdOptions {
  double learning_rate = 1e-2, momentum = 0;
};
// Stochastic gradient descent: a step against the gradient, or against a running sum of gradients.
class Sgd {
 public:
  explicit Sgd(const std::vector<Parameter>& parameters, SgdOptions options = {})
      : parameters_(parameters), options_(options), velocity_(parameters.size(), 0) {}
  const std::vector<Parameter>& parameters() const { return parameters_; }
  void step(const std::vector<Tensor>& gradients) {
    const NoGrad pause;  // an update is not part of the loss
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      velocity_[i] = options_.momentum * velocity_[i] + gradients[i];
      parameters_[i].set(parameters_[i].value() - options_.learning_rate * velocity_[i]);
    }
  }

 private:
  std::vector<Parameter> parameters_;
  SgdOptions options_;
  std::vector<Tensor> velocity_;  // at first the scalar 0, which broadcasts
};

struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
};
// Adam (Kingma and Ba 2015): divides the running mean of the gradient by the root of the running
// mean of its square, so every element moves at about the learning rate. Both means begin at 0 and
// are too small at first; the divisors 1 - beta^t correct that.
class Adam {
 public:
  explicit Adam(const std::vector<Parameter>& parameters, AdamOptions options = {})
      : parameters_(parameters), options_(options), mean_(parameters.size(), 0), square_(mean_) {}
  const std::vector<Parameter>& parameters() const { return parameters_; }
  void step(const std::vector<Tensor>& gradients) {
    const NoGrad pause;
    ++steps_;
    const auto [rate, beta1, beta2, epsilon] = options_;
    const double part1 = 1 - std::pow(beta1, steps_), part2 = 1 - std::pow(beta2, steps_);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const Tensor& g = gradients[i];
      mean_[i] = beta1 * mean_[i] + (1 - beta1) * g;
      square_[i] = beta2 * square_[i] + (1 - beta2) * g * g;
      const Tensor root = sqrt(square_[i] / part2) + epsilon;
      parameters_[i].set(parameters_[i].value() - rate / part1 * mean_[i] / root);
    }
  }

 private:
  std::vector<Parameter> parameters_;
  AdamOptions options_;
  std::vector<Tensor> mean_, square_;
  int steps_ = 0;
};

// ---- 11. Higher derivatives and the gradient check ----------------------------------------------

// The Hessian-vector product of a scalar function: the gradient of <df/dx, v>. The Hessian of a
// million parameters has 10^12 elements; this product takes two sweeps and never forms it.
inline Tensor hvp(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, const Tensor& v) {
  const Tape tape;
  const Tensor leaf = watch(x);
  const Tensor slope = grad(f(leaf), leaf, {.record = true});
  return detach(grad(sum(slope * v), leaf));
}

// A function of several tensors.
using Function = std::function<Tensor(const std::vector<Tensor>&)>;

// The vector-Jacobian products v^T df/dx for each x, by one sweep with the seed v. On a tape in
// scope they are recorded; without one, they are constants.
inline std::vector<Tensor> vjp(const Function& f, const std::vector<Tensor>& xs, const Tensor& v) {
  std::unique_ptr<Tape> own = Tape::active() ? nullptr : std::make_unique<Tape>();
  std::vector<Tensor> leaves;  // new nodes, so that each x counts by itself even if two are equal
  for (const Tensor& x : xs)
    leaves.push_back(Tape::active()->holds(x) ? reshape(x, x.shape()) : watch(x));
  std::vector<Tensor> result = grad(f(leaves), leaves, {.seed = v, .record = own == nullptr});
  if (own)
    for (Tensor& each : result) each = detach(each);
  return result;
}

struct CheckOptions {
  double step = sizeof(real) == 8 ? 1e-3 : 3e-2;
  double tolerance = sizeof(real) == 8 ? 1e-6 : 2e-2;
  std::uint64_t seed = 1;
};
struct CheckResult {
  bool ok = true;
  double error = 0;  // the largest relative error
  explicit operator bool() const { return ok; }
};

// Numbers uniform in [-1, 1), by Knuth's linear congruential generator.
inline Tensor random_in(const Shape& shape, std::uint64_t& state) {
  Tensor x = Tensor::uninitialized(shape);
  for (Index i = 0; i < x.size(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x.mutable_data()[i] = double(state >> 11) / (1ull << 52) - 1;
  }
  return x;
}

// Compares the gradient of l(x) = <f(x), u>, for a random u, with finite differences along a random
// direction d of each x. A wrong rule passes only if its error is orthogonal to d, which has
// probability 0. Four evaluations of f cancel the errors up to the fourth power of the step h:
//
//   dl/dx d  =  (8 (l(x + h d) - l(x - h d)) - (l(x + 2 h d) - l(x - 2 h d))) / 12 h
inline CheckResult check_gradient(const Function& f, const std::vector<Tensor>& xs,
                                  const CheckOptions& options = {}) {
  std::uint64_t state = options.seed;
  const Tensor u = random_in(f(xs).shape(), state);
  const std::vector<Tensor> gradients = vjp(f, xs, u);
  CheckResult result;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const Tensor direction = random_in(xs[i].shape(), state);
    const auto along = [&](double distance) {  // l(x + distance d), summed in double precision
      std::vector<Tensor> moved = xs;
      moved[i] = xs[i] + distance * direction;
      const Tensor y = f(moved);
      double total = 0;
      for (Index j = 0; j < y.size(); ++j) total += double(y.data()[j]) * u.data()[j];
      return total;
    };
    const double h = options.step, by_rule = sum(gradients[i] * direction).item();
    const double by_difference =
        (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h);
    const double scale = std::max({std::abs(by_rule), std::abs(by_difference), 1.0});
    const double error = std::abs(by_rule - by_difference) / scale;
    result.error = std::max(result.error, error);
    result.ok = result.ok && error <= options.tolerance;
  }
  return result;
}

// Checks second derivatives: the derivatives of the gradient as a function of xs and of the seed.
inline CheckResult check_second_gradient(const Function& f, const std::vector<Tensor>& xs,
                                         const CheckOptions& options = {}) {
  std::vector<Tensor> inputs = xs;
  std::uint64_t state = options.seed + 1;
  inputs.push_back(random_in(f(xs).shape(), state));
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const Function gradient = [&](const std::vector<Tensor>& in) {
      return vjp(f, std::vector<Tensor>(in.begin(), in.end() - 1), in.back())[i];
    };
    const CheckResult result = check_gradient(gradient, inputs, options);
    if (!result) return result;
  }
  return {};
}

}  // namespace tapegrad
