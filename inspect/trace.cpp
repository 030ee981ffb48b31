#include "tapegrad/inspect/trace.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tapegrad/core/error.h"
#include "tapegrad/core/machine/instruction_set.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/inspect/internal/recorded.h"
#include "tapegrad/io/safetensors.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

constexpr const char* format_name = "tapegrad trace 1";
constexpr std::string_view value_prefix = "value/", gradient_prefix = "gradient/";
constexpr std::size_t position_digits = 6;

std::string number_of(std::size_t position) {
  return fmt::format("{:0{}}", position, position_digits);
}

// Names and sources of any encoding as UTF-8.
std::string utf8(const std::string& text) {
  using nlohmann::json;
  return json::parse(json(text).dump(-1, ' ', true, json::error_handler_t::replace));
}

Tensor numbers(const Indices& indices) {
  const std::vector<double> values(indices.values().begin(), indices.values().end());
  return Tensor(indices.shape(), values);
}

// The number and the name in a key such as value/000012.hidden, or nothing.
struct Key {
  std::size_t number;
  std::string name;
};
std::optional<Key> parsed(std::string_view key, std::string_view prefix) {
  if (!key.starts_with(prefix)) return {};
  key.remove_prefix(prefix.size());
  Key found{};
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), found.number);
  const auto length = static_cast<std::size_t>(end - key.data());
  if (error != std::errc() || length >= key.size() || *end != '.') return {};
  found.name = key.substr(length + 1);
  return found;
}

}  // namespace

Trace trace(const Tape& tape, const Fields& net) {
  expect<TapeError>(tape.options().keep_values, "trace: needs a tape with .keep_values = true");
  std::map<const void*, std::string> names;
  for (const NamedParameter& one : net.parameters()) names[one.parameter.identity()] = one.name;
  Trace step{.framework = "tapegrad",
             .precision = sizeof(real) == 4 ? "float32" : "float64",
             .instruction_set = instruction_set()};
  for (const NamedConstant& one : tape.constants())
    step.values.push_back({.name = one.name,
                           .operation = "constant",
                           .value = one.tensor.defined() ? one.tensor : numbers(one.indices)});
  const std::vector<int> sweeps = recording_sweeps(tape);
  std::vector<Index> positions(sweeps.size(), -1);
  Sources sources;
  for (std::int32_t i = 0; i < tape.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (sweeps[at] != 0) continue;
    positions[at] = std::ssize(step.values);
    const Node& node = tape.node(i);
    TracedValue entry{.name = tape.label(i), .operation = node.name};
    if (const Parameter* parameter = tape.parameter(i)) {
      if (const auto found = names.extract(parameter->identity())) entry.name = found.mapped();
    }
    if (entry.name.empty()) entry.name = entry.operation;
    for (std::int32_t k = 0; k < node.input_count; ++k) {
      const std::int32_t input = node.inputs[k];
      const bool detached = input < -1;
      const Index position =
          input == -1
              ? -1
              : positions[static_cast<std::size_t>(detached ? detached_input(input) : input)];
      entry.inputs.push_back(detached && position >= 0 ? -2 - position : position);
    }
    if (node.place.line > 0) entry.place = to_string(node.place);
    entry.source = sources.line(node.place);
    entry.value = tape.value(i);
    entry.gradient = tape.gradient(i);
    step.values.push_back(std::move(entry));
  }
  for (const NamedParameter& one : net.parameters())
    if (names.contains(one.parameter.identity()))
      step.values.push_back(
          {.name = one.name, .operation = "parameter", .value = one.parameter.value()});
  for (const NamedBuffer& one : net.buffers())
    step.values.push_back({.name = one.name, .operation = "buffer", .value = one.buffer.value()});
  return step;
}

void write_trace(const Tape& tape, const Fields& net, const std::string& file) {
  const Trace step = trace(tape, net);
  TensorFile out{.metadata = {{"format", format_name},
                              {"framework", step.framework},
                              {"precision", step.precision},
                              {"instruction_set", step.instruction_set}}};
  for (std::size_t i = 0; i < step.values.size(); ++i) {
    const TracedValue& entry = step.values[i];
    const std::string number = number_of(i), key = number + '.' + utf8(entry.name);
    if (entry.value.defined()) out.tensors.emplace(std::string(value_prefix) + key, entry.value);
    if (entry.gradient.defined())
      out.tensors.emplace(std::string(gradient_prefix) + key, entry.gradient);
    out.metadata[number + ".operation"] = utf8(entry.operation);
    out.metadata[number + ".inputs"] = fmt::format("{}", fmt::join(entry.inputs, " "));
    out.metadata[number + ".place"] = utf8(entry.place);
    out.metadata[number + ".source"] = utf8(entry.source);
  }
  save_tensors(file, out);
}

Trace read_trace(const std::filesystem::path& file) {
  TensorFile in = load_tensors(file);
  const std::string where = "read_trace: " + file.string();
  expect<DataError>(in.metadata["format"] == format_name,
                    "{} is not a trace: its format is {}, not {}", where,
                    beginning(in.metadata["format"]), format_name);
  for (const auto& [name, why] : in.unread)
    fail<DataError>("{}: tensor {} {}", where, beginning(name), why);
  Trace step{.framework = in.metadata["framework"],
             .precision = in.metadata["precision"],
             .instruction_set = in.metadata["instruction_set"]};
  std::map<std::size_t, TracedValue> found;  // by number
  for (const auto& [name, tensor] : in.tensors) {
    const auto of_value = parsed(name, value_prefix), of_gradient = parsed(name, gradient_prefix);
    expect<DataError>(of_value || of_gradient, "{}: {} is neither a value nor a gradient", where,
                      beginning(name));
    const Key& key = of_value ? *of_value : *of_gradient;
    TracedValue& entry = found[key.number];
    entry.name = key.name;
    (of_value ? entry.value : entry.gradient) = tensor;
  }
  std::map<std::size_t, Index> positions;
  for (auto& [number, entry] : found) {
    const auto about = [&, key = number_of(number)](const char* what) {
      return in.metadata[key + what];
    };
    entry.operation = about(".operation");
    entry.place = about(".place");
    entry.source = about(".source");
    std::istringstream inputs(about(".inputs"));
    for (Index input = 0; inputs >> input;) {
      const bool detached = input < -1;
      const auto position = positions.find(static_cast<std::size_t>(detached ? -2 - input : input));
      if (position == positions.end())
        entry.inputs.push_back(-1);
      else
        entry.inputs.push_back(detached ? -2 - position->second : position->second);
    }
    positions[number] = std::ssize(step.values);
    step.values.push_back(std::move(entry));
  }
  return step;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
