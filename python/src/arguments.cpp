#include "arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace tapegrad::TAPEGRAD_SCALAR::python {

Place python_line() {
  PyFrameObject* const frame = PyThreadState_GetFrame(PyThreadState_Get());
  if (frame == nullptr) return {};
  const int line = PyFrame_GetLineNumber(frame);
  PyCodeObject* const code = PyFrame_GetCode(frame);
  // A place refers to the name of its file for as long as the program runs, so the name stays.
  static auto& kept = *new std::unordered_set<PyObject*>;
  PyObject* const file = code->co_filename;
  if (kept.insert(file).second) Py_INCREF(file);
  const char* const name = PyUnicode_AsUTF8(file);
  Py_DECREF(code);
  Py_DECREF(frame);
  if (name == nullptr) PyErr_Clear();
  return {name == nullptr ? "" : name, line};
}

Axes axes_of(const AxesArgument& given) {
  if (!given) return {};
  const int* const one = std::get_if<int>(&*given);
  return one == nullptr ? Axes(std::get<1>(*given)) : Axes(*one);
}

HeightWidth height_width_of(const HeightWidthArgument& given) {
  const Index* const both = std::get_if<Index>(&given);
  if (both != nullptr) return *both;
  const auto& [height, width] = std::get<1>(given);
  return {height, width};
}

Shape shape_of(const std::vector<Index>& given) { return Shape(std::span<const Index>(given)); }

Extents extents_of(const std::vector<Index>& given) {
  Extents result{};
  result.values = given;
  return result;
}

std::vector<Padding> paddings_of(const std::vector<std::pair<Index, Index>>& given) {
  std::vector<Padding> result;
  for (const auto& [before, after] : given) result.push_back({before, after});
  return result;
}

int position_of_choice(const char* option, const std::string& given,
                       const std::vector<const char*>& names) {
  const auto found = std::find(names.begin(), names.end(), given);
  if (found == names.end())
    fail<ArgumentError>("{}: unknown value: '{}'; available: {}", option, given,
                        fmt::format("{}", fmt::join(names, ", ")));
  return static_cast<int>(found - names.begin());
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::python
