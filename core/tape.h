#pragma once

#include <array>
#include <concepts>
#include <iosfwd>
#include <memory>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "tapegrad/core/indices.h"
#include "tapegrad/core/internal/observed.h"
#include "tapegrad/core/internal/rule.h"
#include "tapegrad/core/parameter.h"
#include "tapegrad/core/place.h"
#include "tapegrad/core/scoped.h"
#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

class ReverseSweep;
namespace detail {
class Recorder;
}

/// Example: `const Tape tape({.check_finite = true})`
struct TapeOptions {
  /// Keep the value of every node and every gradient of a sweep, for printing, export and viewing.
  bool keep_values = false;
  /// Throw NonFiniteError at the first operation, forward or backward, that produces a NaN or an
  /// infinity. Implies keep_values.
  bool check_finite = false;
};

/// The list of operations in the order they ran. A tape belongs to a scope of one thread:
///
///     Tape tape;                      // operations are recorded from here on
///     ... grad(loss, parameters) ...
///                                     // ends with the scope; values live on
///
/// Throws TapeError if this thread already has a tape.
/// Example: `const Tape tape({.check_finite = true})`
class Tape {
 public:
  explicit Tape(TapeOptions options = {});
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;
  static void* operator new(std::size_t) = delete;
  static void* operator new[](std::size_t) = delete;

  /// The tape in scope on this thread, or null without one or under NoGrad.
  static Tape* active() { return ambient_.paused ? nullptr : ambient_.tape; }

  std::int32_t size() const { return size_; }
  Node& node(std::int32_t index) {
    const auto i = static_cast<std::uint32_t>(index);
    return chunks_[i / chunk_nodes][i % chunk_nodes];
  }
  const Node& node(std::int32_t index) const { return const_cast<Tape*>(this)->node(index); }
  /// The value of a node, as a tensor of this tape; undefined unless it was kept.
  const Tensor& value(std::int32_t index) const {
    const Tensor* value = node(index).value;
    return value == nullptr ? undefined_ : *value;
  }
  /// The gradient that the last sweep found for a node, on a tape with `keep_values`.
  Tensor gradient(std::int32_t index) const;
  /// Every addition to a gradient, in all sweeps, on a tape with `keep_values`.
  const std::vector<Flow>& flows() const { return observed().flows(); }
  /// The parameter whose leaf this node is, or null.
  const Parameter* parameter(std::int32_t index) const;
  /// The name that `named` gave a node, or the name of its parameter, or "".
  const std::string& label(std::int32_t index) const;
  /// The constants that `named` has named, in order, on a tape with `keep_values`: the batch, say.
  const std::vector<NamedConstant>& constants() const { return observed().constants(); }
  /// The bytes of all distinct buffers that the rules and nodes of this tape keep alive.
  std::size_t bytes() const;

  /// The number given to tensors recorded now: the id of this tape, or of its current interlude.
  std::uint64_t id() const { return id_; }
  const TapeOptions& options() const { return options_; }

  /// Whether a tensor was recorded here and has not been forgotten.
  bool holds(const Tensor& tensor) const {
    return tensor.tape_id() == id_ || (tensor.tape_id() != 0 && holds_outside(tensor));
  }
  /// Tests the same, but throws TapeError, naming `operation` and the input, for a tensor of
  /// another tape (an ended one, or one of another thread) and for a tensor left over from an
  /// interlude.
  bool holds(const Tensor& tensor, const char* operation, int input, const Place& place) const {
    if (tensor.tape_id() == id_) return true;
    return tensor.tape_id() != 0 && holds_outside_or_refuse(tensor, operation, input, place);
  }
  /// The tape in scope. Throws TapeError, naming `operation`, if there is none or under NoGrad.
  static Tape& required(const char* operation);
  /// The leaf of a parameter, entered at its first use.
  Tensor leaf(const Parameter& parameter);
  /// The node of a parameter's leaf, or -1 when this tape has not used it.
  std::int32_t find(const Parameter& parameter) const;
  /// The parameters that this tape has used, in the order of their first use.
  std::vector<Parameter> parameters() const;

 private:
  friend class NoGrad;
  friend class EnableGrad;
  friend class Interlude;
  friend class detail::Recorder;
  friend class ReverseSweep;
  static constexpr std::uint32_t chunk_nodes = 256;
  static constexpr std::size_t arena_bytes = std::size_t{64} << 10;

  /// Adds a node. `value` becomes a tensor of this tape, which keeps it if asked to. Enters nothing
  /// if it throws.
  Node& enter(const char* name, Tensor& value, const Place& place, bool keep_value);
  /// Memory that lives as long as this tape.
  void* allocate(std::size_t bytes, std::size_t alignment) {
    std::size_t room = static_cast<std::size_t>(arena_end_ - arena_next_);
    void* memory = arena_next_;
    if (std::align(alignment, bytes, memory, room) == nullptr) memory = extend_arena(bytes);
    arena_next_ = static_cast<std::byte*>(memory) + bytes;
    return memory;
  }
  void* extend_arena(std::size_t bytes);
  /// Destroys a list of rules in the arena.
  static void destroy(Rule* rules);
  /// Uses up the rules of a node.
  void release(Node& node);
  /// Forgets the nodes from `size` on.
  void rewind(std::int32_t size);
  /// The entry among a node's inputs of a tensor that this tape does not hold: -1, or, on a tape
  /// with `keep_values`, the `detached_input` of the node whose value it is.
  std::int32_t constant(const Tensor& tensor) const {
    return observed_ == nullptr ? -1 : observed_constant(tensor);
  }
  std::int32_t observed_constant(const Tensor& tensor) const;
  /// Empty on a tape without `keep_values`.
  const detail::Observed& observed() const {
    return observed_ == nullptr ? nothing_observed_ : *observed_;
  }
  bool holds_outside(const Tensor& tensor) const;
  bool holds_outside_or_refuse(const Tensor& tensor, const char* operation, int input,
                               const Place& place) const;
  static void forget_value(Node& node) {
    if (node.value != nullptr) std::exchange(node.value, nullptr)->~Tensor();
  }

  static const Tensor undefined_;
  static const detail::Observed nothing_observed_;
  // One variable, since every operation reads it.
  struct Ambient {
    Tape* tape = nullptr;  // the one in scope on this thread
    bool paused = false;   // by NoGrad
  };
  static constinit thread_local Ambient ambient_;

  TapeOptions options_;
  std::uint64_t id_;
  std::vector<std::uint64_t> outer_ids_;      // of the enclosing tape and interludes
  std::vector<std::uint64_t> interlude_ids_;  // of all interludes, in order
  std::int32_t size_ = 0;
  std::vector<Node*> chunks_;
  std::vector<Storage> chunk_storage_;
  std::vector<Storage> arena_;
  std::byte* arena_next_ = nullptr;
  std::byte* arena_end_ = nullptr;
  struct Leaf {
    std::uint64_t id;
    std::int32_t node;
    Parameter parameter;
  };
  std::unordered_map<const void*, Leaf> leaves_;
  std::unordered_map<std::int32_t, std::string> labels_;  // of nodes, by `named`
  std::unique_ptr<detail::Observed> observed_;            // with `keep_values`
};

/// While in scope, nothing is recorded on this thread, even on a tape created meanwhile.
/// Example: `{ const NoGrad off; net(x); }`
class NoGrad {
 public:
  NoGrad() : paused_(Tape::ambient_.paused, true) {}

 private:
  Scoped<bool> paused_;
};

/// While in scope, the tape of this thread records despite NoGrad.
/// Example: `const NoGrad off; { const EnableGrad on; net(x); }`
class EnableGrad {
 public:
  EnableGrad() : paused_(Tape::ambient_.paused, false) {}

 private:
  Scoped<bool> paused_;
};

/// x as a leaf of the active tape, so that `grad` can return its gradient; x itself if the tape has
/// recorded it already. Throws TapeError without a tape.
/// Example: `const Tensor weight = watch(ones({6, 3})); grad(sum(matmul(x, weight)), weight)`
Tensor watch(const Tensor& x, Place = Place::here());

/// The value of x as a constant: no gradient flows through. theta(x) of Xu et al. 2019, eq. 4.
/// Throws ShapeError for an undefined tensor, as every operation does.
/// Example: `x - detach(mean(x))`
Tensor detach(const Tensor& x, Place = Place::here());

/// x, whose node on the active tape has this name from now on: in print, in exports, in the viewer
/// and in error messages. A tape with `keep_values` keeps a constant with its name. Does nothing
/// else, and nothing at all without a tape.
/// Example: `const Tensor mu = named(mean(x), "mu")`
Tensor named(const Tensor& x, const std::string& name);
/// Example: `named(labels, "labels")`
Indices named(const Indices& x, const std::string& name);

/// The tape as a numbered program, one line per node: number, name, operation, inputs, shape,
/// place.
std::string to_string(const Tape& tape);
/// Writes `to_string(tape)` to standard output.
/// Example: `print(tape)`
void print(const Tape& tape);

/// Whether operations on this thread are being recorded.
/// Example: `if (recording()) fmt::print("a tape is active\n")`
inline bool recording() { return Tape::active() != nullptr; }

}  // namespace tapegrad::TAPEGRAD_SCALAR

#include "tapegrad/core/record.h"
