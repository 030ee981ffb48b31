#include "tapegrad/inspect/export.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "inspect/viewer_page.h"
#include "tapegrad/core/range.h"
#include "tapegrad/inspect/explain.h"
#include "tapegrad/inspect/internal/recorded.h"
#include "tapegrad/io/file.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

using Json = nlohmann::ordered_json;

constexpr Index full_values = 64;  // in JSON; more are summarized
constexpr Index graph_values = 6;  // in a graph
constexpr int histogram_bins = 24;

Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json histogram(const Tensor& tensor, const Range& within) {
  std::array<Index, histogram_bins> counts{};
  const double half = within.greatest / 2 - within.least / 2;  // the whole may overflow
  for (const real value : tensor.values()) {
    if (!std::isfinite(value)) continue;
    const double share = half > 0 ? (value / 2 - within.least / 2) / half : 0;
    ++counts[static_cast<std::size_t>(std::min(share * histogram_bins, histogram_bins - 1.0))];
  }
  return counts;
}

double deviation(const Tensor& tensor, const Range& of) {
  double sum = 0;
  for (const real value : tensor.values())
    if (std::isfinite(value)) sum += (value - of.mean) * (value - of.mean);
  return std::sqrt(sum / static_cast<double>(tensor.size() - of.non_finite));
}

Json shape_of(const Shape& shape) { return std::vector<Index>(shape.begin(), shape.end()); }

Json described(const Tensor& tensor) {
  if (!tensor.defined()) return nullptr;
  Json result{{"shape", shape_of(tensor.shape())}};
  if (tensor.size() <= full_values) {
    Json values = Json::array();
    for (const real value : tensor.values()) values.push_back(number(value));
    result["values"] = values;
    return result;
  }
  const Range found = range(tensor);
  result["mean"] = number(found.mean);
  result["deviation"] = number(deviation(tensor, found));
  result["least"] = number(found.least);
  result["greatest"] = number(found.greatest);
  result["histogram"] = histogram(tensor, found);
  result["non_finite"] = found.non_finite;
  return result;
}

Json nodes_of(const Tape& tape) {
  Sources sources;
  const std::vector<int> sweeps = recording_sweeps(tape);
  const auto why =
      tape.flows().empty() ? std::map<std::int32_t, std::string>() : explain_leaves(tape);
  Json nodes = Json::array();
  for (std::int32_t i = 0; i < tape.size(); ++i) {
    const Node& node = tape.node(i);
    nodes.push_back({{"name", node.name},
                     {"label", tape.label(i)},
                     {"sweep", sweeps[static_cast<std::size_t>(i)]},
                     {"inputs", std::span(node.inputs, node.inputs + node.input_count)},
                     {"shape", shape_of(node.shape)},
                     {"place", node.place.line > 0 ? to_string(node.place) : ""},
                     {"source", sources.line(node.place)},
                     {"value", described(tape.value(i))}});
    if (const auto found = why.find(i); found != why.end()) nodes.back()["why"] = found->second;
  }
  return nodes;
}

Json flows_of(const Tape& tape) {
  Json flows = Json::array();
  for (const Flow& flow : tape.flows())
    flows.push_back({{"sweep", flow.sweep},
                     {"from", flow.from},
                     {"to", flow.to},
                     {"size", flow.size},
                     {"node", flow.total.node()},
                     {"added", described(flow.added)},
                     {"total", described(flow.total)}});
  return flows;
}

std::string escaped(const std::string& label) {
  std::string result;
  for (const char c : label)
    result += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return result;
}

std::string short_text(const Tensor& tensor) {
  if (tensor.size() > graph_values) return to_string(range(tensor));
  std::string values = to_string(tensor);
  return values.substr(values.find(") ") + 2);  // without the shape
}

// JSON that is safe inside an HTML script.
std::string embedded(const std::string& json) {
  std::string result;
  for (const char c : json) result += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return result;
}

}  // namespace

std::string as_dot(const Tape& tape) {
  const std::vector<int> sweeps = recording_sweeps(tape);
  std::string graph = "digraph tape {\n  rankdir=TB;\n  node [fontname=\"sans-serif\"];\n";
  for (std::int32_t i = 0; i < tape.size(); ++i) {
    const Node& node = tape.node(i);
    std::string label = fmt::format("%{} {}", i, escaped(node.name));
    if (!tape.label(i).empty()) label += ' ' + escaped(tape.label(i));
    label += "\\n" + to_string(node.shape);
    if (tape.value(i).defined()) label += "\\nvalue " + short_text(tape.value(i));
    if (const Tensor gradient = tape.gradient(i); gradient.defined())
      label += "\\ngradient " + short_text(gradient);
    graph += fmt::format("  n{} [label=\"{}\", shape={}{}];\n", i, label,
                         node.input_count == 0 ? "box" : "ellipse",
                         sweeps[static_cast<std::size_t>(i)] > 0 ? ", style=dashed" : "");
    for (const std::int32_t input : std::span(node.inputs, node.inputs + node.input_count))
      if (input >= 0)
        graph += fmt::format("  n{} -> n{};\n", input, i);
      else if (input < -1)
        graph += fmt::format("  n{} -> n{} [style=dashed, label=\"detach\"];\n",
                             detached_input(input), i);
  }
  return graph + "}\n";
}

std::string as_json(const Tape& tape) {
  return Json{{"format", "tapegrad tape 1"}, {"nodes", nodes_of(tape)}, {"flows", flows_of(tape)}}
      .dump(-1, ' ', true, Json::error_handler_t::replace);
}

void write_viewer(const std::vector<ExportedTape>& tapes, const std::string& file) {
  std::string all = "[";
  for (const ExportedTape& tape : tapes)
    all += fmt::format("{}{{\"title\":{},\"tape\":{}}}", all.size() > 1 ? "," : "",
                       Json(tape.title).dump(-1, ' ', true, Json::error_handler_t::replace),
                       tape.json);
  std::string page = viewer_page;
  const std::string mark = "TAPES";
  page.replace(page.find(mark), mark.size(), embedded(all + "]"));
  write_file(file, std::as_bytes(std::span(page)));
}

void write_viewer(const Tape& tape, const std::string& file) {
  write_viewer({{"", as_json(tape)}}, file);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
