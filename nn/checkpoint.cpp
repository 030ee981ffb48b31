#include "tapegrad/nn/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

#include "tapegrad/core/error.h"
#include "tapegrad/core/printable.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

constexpr std::string_view note_prefix = "note.", optimizer_prefix = "optimizer.",
                           ema_prefix = "ema.", carried_prefix = "carried.",
                           resume_prefix = "resume.";
// Like other writers, which write "pt" for PyTorch.
constexpr const char* format_key = "format";
constexpr const char* own_format = "tapegrad";
constexpr const char* updates_key = "ema_updates";

// How many steps of the optimizer have skipped a parameter; without it, none.
std::string skipped_key(const std::string& parameter) {
  return fmt::format("{}skipped.{}", optimizer_prefix, parameter);
}

std::string moment_name(const Moments& moments, const std::string& parameter) {
  return fmt::format("{}{}.{}", optimizer_prefix, moments.name, parameter);
}

std::string average_name(const std::string& parameter) {
  return fmt::format("{}{}", ema_prefix, parameter);
}

// The net's names for the parameters of an optimizer or an Ema, which may be only some of the
// net's.
template <class Owner>
std::vector<std::string> names_of(const char* owner, const Owner& some, const Fields& net) {
  std::map<const void*, std::string> names;
  for (const auto& [name, parameter] : net.parameters()) names[parameter.identity()] = name;
  std::vector<std::string> found;
  for (const Parameter& parameter : some.parameters()) {
    const auto entry = names.find(parameter.identity());
    expect<ArgumentError>(entry != names.end(),
                          "checkpoint: the {}'s parameter {} is not in the net", owner,
                          parameter.name());
    found.push_back(entry->second);
  }
  return found;
}

// The names of an Ema's averages: of parameters, then of buffers.
std::vector<std::string> average_names(const Ema& ema, const Fields& net) {
  std::vector<std::string> found = names_of("ema", ema, net);
  std::map<const void*, std::string> names;
  for (const auto& [name, buffer] : net.buffers()) names[buffer.identity()] = name;
  for (const Buffer& buffer : ema.buffers()) {
    const auto entry = names.find(buffer.identity());
    expect<ArgumentError>(entry != names.end(),
                          "checkpoint: a buffer of the ema is not in the net");
    found.push_back(entry->second);
  }
  for (std::string& name : found) name = average_name(name);
  return found;
}

// Throws E, naming the file's tensor, for one with a NaN or an infinity.
template <class E>
void expect_finite(const std::string& where, const std::string& name, const Tensor& tensor) {
  const auto values = tensor.values();
  const auto found =
      std::find_if(values.begin(), values.end(), [](real value) { return !std::isfinite(value); });
  if (found == values.end()) return;
  throw E(fmt::format("{}: tensor {} has a value that is not finite: {}", where, name, *found));
}

// Looks up entries of a file, and reports those that are missing or do not fit: by an error, or in
// a list.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& path, Unfit* unfit = nullptr)
      : name_(path.string()), file_(load_tensors(path)), unfit_(unfit) {
    const auto format = file_.metadata.find(format_key);
    expect<DataError>(is_checkpoint(file_),
                      "load_checkpoint: {}: save_checkpoint did not write it: its format is {}; "
                      "read PyTorch weights with load_pytorch, other tensors with load_tensors",
                      name_,
                      format == file_.metadata.end() ? "not given" : beginning(format->second));
  }

  std::map<std::string, std::string> notes() const {
    std::map<std::string, std::string> found;
    for (const auto& [key, value] : file_.metadata)
      if (key.starts_with(note_prefix)) found[key.substr(note_prefix.size())] = value;
    return found;
  }

  // In place of a tensor that has the value `now`.
  const Tensor& tensor(const std::string& name, const Tensor& now) {
    const Shape& shape = now.shape();
    const auto found = file_.tensors.find(name);
    if (unfit_ != nullptr && (found == file_.tensors.end() || found->second.shape() != shape)) {
      unfit_->missing.push_back(name);
      return now;
    }
    used_.insert(name);
    if (const auto unread = file_.unread.find(name); unread != file_.unread.end())
      throw DataError(
          fmt::format("load_checkpoint: {}: tensor {} {}", name_, name, unread->second));
    expect<DataError>(found != file_.tensors.end(), "load_checkpoint: {} has no tensor {}", name_,
                      name);
    expect<DataError>(found->second.shape() == shape,
                      "load_checkpoint: {}: tensor {} has shape {}, the net needs {}", name_, name,
                      found->second.shape(), shape);
    expect_finite<DataError>("load_checkpoint: " + name_, name, found->second);
    return found->second;
  }

  // Reports tensors that were not requested, unless their name begins with one of `ignored`.
  void expect_nothing_left(const std::vector<std::string_view>& ignored) const {
    const auto is_ignored = [&](const std::string& name) {
      return std::any_of(ignored.begin(), ignored.end(),
                         [&](std::string_view prefix) { return name.starts_with(prefix); });
    };
    const auto expect_used = [&](const auto& tensors) {
      for (const auto& [name, tensor] : tensors) {
        const bool is_used = used_.count(name) > 0 || is_ignored(name);
        if (unfit_ != nullptr && !is_used) unfit_->unused.push_back(name);
        expect<DataError>(
            is_used || unfit_ != nullptr,
            "load_checkpoint: {} has an unexpected tensor {}: it belongs to another net "
            "or optimizer",
            name_, beginning(name));
      }
    };
    expect_used(file_.tensors);
    expect_used(file_.indices);
    expect_used(file_.unread);
  }

  bool contains(const std::string& key) const { return file_.metadata.contains(key); }

  // Whether to read an entry: in a list, those that are missing are reported here.
  bool has(const std::string& key) {
    const bool found = unfit_ == nullptr || file_.metadata.contains(key);
    if (!found) unfit_->missing.push_back(key);
    return found;
  }

  template <class Number>
  Number number(const std::string& key) const {
    const auto found = file_.metadata.find(key);
    expect<DataError>(found != file_.metadata.end(),
                      "load_checkpoint: {} has no {}: it does not hold a training run", name_, key);
    const std::string& text = found->second;
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    expect<DataError>(error == std::errc() && end == text.data() + text.size(),
                      "load_checkpoint: {}: {} is not a number: {}", name_, key, beginning(text));
    return value;
  }

 private:
  std::string name_;
  TensorFile file_;
  Unfit* unfit_;
  std::set<std::string> used_;
};

struct OptimizerState {
  Index steps = 0;
  std::vector<Index> skipped;  // of each parameter
  double rate = 0;
  std::vector<Moments> moments;
};

OptimizerState optimizer_state(Reader& reader, const std::string& path, const Optimizer& optimizer,
                               const Fields& net) {
  const std::vector<std::string> names = names_of("optimizer", optimizer, net);
  OptimizerState state{
      .steps = reader.number<Index>("optimizer.steps"), .skipped = {}, .rate = 0, .moments = {}};
  expect<DataError>(state.steps >= 0, "load_checkpoint: {}: optimizer.steps is negative: {}", path,
                    state.steps);
  state.rate = reader.number<double>("optimizer.rate");
  expect<DataError>(state.rate >= 0 && std::isfinite(state.rate),
                    "load_checkpoint: {}: optimizer.rate is negative or not finite: {}", path,
                    state.rate);
  for (const std::string& name : names) {
    const std::string key = skipped_key(name);
    state.skipped.push_back(reader.contains(key) ? reader.number<Index>(key) : 0);
    expect<DataError>(0 <= state.skipped.back() && state.skipped.back() <= state.steps,
                      "load_checkpoint: {}: {} is negative or beyond optimizer.steps: {}", path,
                      key, state.skipped.back());
  }
  for (const Moments& moments : optimizer.moments()) {
    state.moments.push_back({moments.name, {}});
    for (std::size_t i = 0; i < names.size(); ++i)
      state.moments.back().values.push_back(
          reader.tensor(moment_name(moments, names[i]), moments.values[i]));
  }
  return state;
}

PlateauState plateau_state(const Reader& reader, const std::string& path) {
  const PlateauState state{.learning_rate = reader.number<double>("plateau.rate"),
                           .best = reader.number<double>("plateau.best"),
                           .failed = reader.number<Index>("plateau.failed"),
                           .cooling = reader.number<Index>("plateau.cooling")};
  try {
    Plateau(0).restore(state);
  } catch (const ArgumentError& error) {
    throw DataError(fmt::format("load_checkpoint: {}: {}", path, error.what()));
  }
  return state;
}

// Calls `visit` for each parameter, then for each buffer, with the two parts of its name in the
// file.
template <class Visit>
void each_slot(const Fields& fields, std::string_view prefix, const Visit& visit) {
  for (const auto& [name, parameter] : fields.parameters()) visit(prefix, name, parameter);
  for (const auto& [name, buffer] : fields.buffers()) visit(prefix, name, buffer);
}

// Visits the net, with the values that it has now, and what is carried. Allocates no memory.
template <class Visit>
void each_slot(const Checkpoint& checkpoint, const Visit& visit) {
  each_slot(checkpoint.net, checkpoint.best == nullptr ? "" : resume_prefix, visit);
  each_slot(checkpoint.carried, carried_prefix, visit);
}

// Throws ArgumentError for the state of a net of other shapes.
void expect_state_of(const Fields& net, const NetState& best) {
  std::vector<Shape> wanted, found;
  each_slot(net, "", [&](std::string_view, const std::string&, const auto& slot) {
    wanted.push_back(slot.value().shape());
  });
  for (const Tensor& value : best.values()) found.push_back(value.shape());
  expect<ArgumentError>(found == wanted, "checkpoint: `best` is the state of another net");
}

// How often averages were updated. Files of earlier versions, whose first updates had the decay of
// all others, do not record it.
Index average_updates(const Reader& reader, const std::string& path, bool has_averages) {
  constexpr Index many = Index{1} << 40;
  if (!reader.contains(updates_key)) return has_averages ? many : 0;
  const auto updates = reader.number<Index>(updates_key);
  expect<DataError>(updates >= 0, "load_checkpoint: {}: {} is damaged: {}", path, updates_key,
                    updates);
  return updates;
}

// The content of a checkpoint, read and checked before anything changes.
struct Loaded {
  std::vector<Tensor> values;  // of the slots of the net and of those carried
  std::vector<Tensor> best;
  OptimizerState optimizer;
  std::vector<Tensor> averages;
  Index average_updates = 0;
  std::optional<PlateauState> plateau;
  std::map<std::string, std::array<std::uint64_t, 2>> random;
  std::map<std::string, std::string> notes;
};

Loaded load(const std::filesystem::path& path, const Checkpoint& checkpoint,
            Unfit* unfit = nullptr) {
  Reader reader(path, unfit);
  Loaded loaded;
  each_slot(checkpoint, [&](std::string_view prefix, const std::string& name, const auto& slot) {
    loaded.values.push_back(reader.tensor(fmt::format("{}{}", prefix, name), slot.value()));
  });
  if (const NetState* best = checkpoint.best) {
    expect_state_of(checkpoint.net, *best);
    each_slot(checkpoint.net, "", [&](std::string_view, const std::string& name, const auto& slot) {
      loaded.best.push_back(reader.tensor(name, slot.value()));
    });
  }
  if (const Optimizer* optimizer = checkpoint.optimizer) {
    const std::size_t missing = unfit == nullptr ? 0 : unfit->missing.size();
    loaded.optimizer = optimizer_state(reader, path.string(), *optimizer, checkpoint.net);
    const std::size_t moments = optimizer->moments().size() * optimizer->parameters().size();
    if (unfit != nullptr && moments > 0 && unfit->missing.size() == missing + moments)
      loaded.optimizer.steps = 0, loaded.optimizer.skipped.clear();
  }
  if (const Ema* ema = checkpoint.ema) {
    for (const std::string& name : average_names(*ema, checkpoint.net))
      loaded.averages.push_back(reader.tensor(name, ema->values()[loaded.averages.size()]));
    loaded.average_updates = average_updates(reader, path.string(), unfit == nullptr);
  }
  if (checkpoint.plateau != nullptr && reader.has("plateau.rate"))
    loaded.plateau = plateau_state(reader, path.string());
  std::vector<std::string_view> ignored;
  if (checkpoint.optimizer == nullptr) ignored.push_back(optimizer_prefix);
  if (checkpoint.ema == nullptr) ignored.push_back(ema_prefix);
  if (checkpoint.best == nullptr && checkpoint.optimizer == nullptr)
    ignored.push_back(resume_prefix);
  if (checkpoint.carried.parameters().empty() && checkpoint.carried.buffers().empty())
    ignored.push_back(carried_prefix);
  reader.expect_nothing_left(ignored);
  for (const auto& [name, random] : checkpoint.random)
    if (reader.has("random." + name + ".seed"))
      loaded.random[name] = {reader.number<std::uint64_t>("random." + name + ".seed"),
                             reader.number<std::uint64_t>("random." + name + ".position")};
  loaded.notes = reader.notes();
  loaded.notes.insert(checkpoint.notes.begin(), checkpoint.notes.end());
  return loaded;
}

// Gives the checkpoint's owners what was loaded.
void restore(Loaded loaded, Checkpoint& checkpoint) {
  // The optimizer first: it allocates memory, and the rest does not.
  if (Optimizer* optimizer = checkpoint.optimizer) {
    optimizer->restore(loaded.optimizer.steps, loaded.optimizer.moments, loaded.optimizer.skipped);
    optimizer->set_learning_rate(loaded.optimizer.rate);
  }
  if (checkpoint.ema != nullptr)
    checkpoint.ema->restore(std::move(loaded.averages), loaded.average_updates);
  if (checkpoint.best != nullptr) checkpoint.best->restore(std::move(loaded.best));
  if (loaded.plateau) checkpoint.plateau->restore(*loaded.plateau);
  auto value = loaded.values.begin();
  each_slot(checkpoint,
            [&](std::string_view, const std::string&, auto slot) { slot.set(*value++); });
  for (const auto& [name, state] : loaded.random) checkpoint.random.at(name)->restore(state);
  checkpoint.notes = std::move(loaded.notes);
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  TensorFile file;
  file.metadata[format_key] = own_format;
  const auto put = [&](const std::string& name, const Tensor& tensor) {
    expect_finite<NonFiniteError>("save_checkpoint: " + path.string(), name, tensor);
    const auto [entry, is_new] = file.tensors.emplace(name, tensor);
    expect<Error>(is_new,
                  "save_checkpoint: {}: two tensors are called {}: of shape {} and of shape {}; "
                  "rename the field",
                  path.string(), name, entry->second.shape(), tensor.shape());
  };
  each_slot(checkpoint, [&](std::string_view prefix, const std::string& name, const auto& slot) {
    put(fmt::format("{}{}", prefix, name), slot.value());
  });
  if (const NetState* best = checkpoint.best) {
    expect_state_of(checkpoint.net, *best);
    auto value = best->values().begin();
    each_slot(checkpoint.net, "",
              [&](std::string_view, const std::string& name, const auto&) { put(name, *value++); });
  }
  if (const Optimizer* optimizer = checkpoint.optimizer) {
    const std::vector<std::string> names = names_of("optimizer", *optimizer, checkpoint.net);
    for (const Moments& moments : optimizer->moments())
      for (std::size_t i = 0; i < names.size(); ++i)
        put(moment_name(moments, names[i]), moments.values[i]);
    for (std::size_t i = 0; i < names.size(); ++i)
      if (const Index skipped = optimizer->skipped()[i]; skipped > 0)
        file.metadata[skipped_key(names[i])] = std::to_string(skipped);
    file.metadata["optimizer.steps"] = std::to_string(optimizer->steps());
    file.metadata["optimizer.rate"] = fmt::format("{}", optimizer->learning_rate());
  }
  if (const Ema* ema = checkpoint.ema) {
    const std::vector<std::string> names = average_names(*ema, checkpoint.net);
    for (std::size_t i = 0; i < names.size(); ++i) put(names[i], ema->values()[i]);
    file.metadata[updates_key] = std::to_string(ema->updates());
  }
  if (const Plateau* plateau = checkpoint.plateau) {
    file.metadata["plateau.rate"] = fmt::format("{}", plateau->state().learning_rate);
    file.metadata["plateau.best"] = fmt::format("{}", plateau->state().best);
    file.metadata["plateau.failed"] = std::to_string(plateau->state().failed);
    file.metadata["plateau.cooling"] = std::to_string(plateau->state().cooling);
  }
  for (const auto& [name, random] : checkpoint.random) {
    expect<ArgumentError>(random != nullptr, "save_checkpoint: {}: there is no Random for {}",
                          path.string(), name);
    file.metadata["random." + name + ".seed"] = std::to_string(random->state()[0]);
    file.metadata["random." + name + ".position"] = std::to_string(random->state()[1]);
  }
  for (const auto& [key, value] : checkpoint.notes)
    file.metadata[fmt::format("{}{}", note_prefix, key)] = value;
  save_tensors(path, file);
}

void load_checkpoint(const std::filesystem::path& path, Checkpoint& checkpoint) {
  restore(load(path, checkpoint), checkpoint);
}

Unfit load_fitting(const std::filesystem::path& path, Checkpoint& checkpoint) {
  Unfit unfit;
  restore(load(path, checkpoint, &unfit), checkpoint);
  return unfit;
}

std::map<std::string, std::string> checkpoint_notes(const std::filesystem::path& path) {
  return Reader(path).notes();
}

bool is_checkpoint(const TensorFile& file) {
  const auto format = file.metadata.find(format_key);
  return format != file.metadata.end() && format->second == own_format;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
