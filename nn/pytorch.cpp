#include "tapegrad/nn/pytorch.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "tapegrad/core/error.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/io/safetensors.h"
#include "tapegrad/nn/checkpoint.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// Whether `prefix` is `name` or consists of its first parts.
bool begins(const std::string& name, const std::string& prefix) {
  return prefix.empty() || name == prefix || name.starts_with(prefix + '.');
}

// Replaces the longest prefix of `name` found in the options; adds that prefix to `used`.
std::string renamed(const std::string& name, const PyTorchOptions& options,
                    std::set<std::string>& used) {
  const std::pair<const std::string, std::string>* longest = nullptr;
  for (const auto& entry : options.names)
    if (begins(name, entry.first) &&
        (longest == nullptr || entry.first.size() > longest->first.size()))
      longest = &entry;
  if (longest == nullptr) return name;
  const auto& [ours, theirs] = *longest;
  used.insert(ours);
  const std::string rest =
      ours.empty() ? name : name.substr(std::min(ours.size() + 1, name.size()));
  return theirs.empty() || rest.empty() ? theirs + rest : theirs + '.' + rest;
}

// The first few of a list, and how many more there are.
std::string listed(const std::vector<std::string>& all) {
  constexpr std::size_t shown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, all.size()); ++i)
    text += (i == 0 ? "" : ", ") + all[i];
  return all.size() <= shown ? text : fmt::format("{} and {} more", text, all.size() - shown);
}

// Bitwise, so that NaNs compare too.
bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() &&
         (a.size() == 0 ||
          std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(real)) == 0);
}

// What is wrong with a tensor that the net needs, "" if nothing is.
std::string fault(const TensorFile& file, const std::string& name, const Shape& needed) {
  if (const auto found = file.tensors.find(name); found != file.tensors.end())
    return found->second.shape() == needed ? ""
                                           : fmt::format("{} has shape {}, the net needs {}", name,
                                                         found->second.shape(), needed);
  if (const auto unread = file.unread.find(name); unread != file.unread.end())
    return fmt::format("{} {}", name, unread->second);
  return fmt::format("{} {}", name, file.indices.count(name) > 0 ? "holds integers" : "is missing");
}

// The names in a file that are not expected.
std::vector<std::string> unexpected(const TensorFile& file, const std::set<std::string>& expected) {
  std::vector<std::string> names;
  const auto add = [&](const auto& tensors) {
    for (const auto& [name, tensor] : tensors)
      if (expected.count(name) == 0) names.push_back(name);
  };
  add(file.tensors);
  add(file.indices);
  add(file.unread);
  return names;
}

}  // namespace

void PyTorchState::transposed(const std::string& name, Parameter parameter) {
  if (!parameter.defined()) return;
  const auto load = [parameter](const Tensor& loaded) mutable { parameter.set(transpose(loaded)); };
  tensor(name, transpose(parameter.value()), load, parameter.identity());
}

void PyTorchState::tensor(const std::string& name, const Tensor& value, Load load,
                          const void* slot) {
  entries_.push_back({walk_.prefix_ + name, value, std::move(load), slot});
}

void PyTorchState::skipped(const std::string& name) { skipped_.push_back(walk_.prefix_ + name); }

void PyTorchState::no_counterpart(const std::string& what) const {
  const std::string& prefix = walk_.prefix_;
  throw Error(fmt::format("pytorch: PyTorch has no counterpart of {}{}", what,
                          prefix.empty() ? "" : ": " + prefix.substr(0, prefix.size() - 1)));
}

std::map<std::string, const PyTorchState::Entry*> PyTorchState::named(
    const PyTorchOptions& options) const {
  std::map<std::string, const Entry*> found;
  std::set<std::string> used;
  for (const Entry& entry : entries_) {
    const std::string name = renamed(entry.name, options, used);
    const auto [other, is_new] = found.try_emplace(name, &entry);
    expect<Error>(
        is_new, "pytorch: two tensors would be called {}: {} of shape {} and {} of shape {}", name,
        other->second->name, other->second->value.shape(), entry.name, entry.value.shape());
  }
  for (const auto& [ours, theirs] : options.names)
    expect<Error>(used.count(ours) > 0, "pytorch: PyTorchOptions::names: no name begins with {}",
                  ours);
  return found;
}

void PyTorchState::load(const std::filesystem::path& path, const PyTorchOptions& options) const {
  const TensorFile file = load_tensors(path);
  expect<DataError>(!is_checkpoint(file),
                    "load_pytorch: {}: save_checkpoint wrote it; read it with load_checkpoint",
                    path.string());
  const std::map<std::string, const Entry*> wanted = named(options);
  std::vector<std::string> wrong;
  for (const auto& [name, entry] : wanted) {
    const std::string reason = fault(file, name, entry->value.shape());
    if (!reason.empty()) wrong.push_back(reason);
  }
  std::map<const void*, std::pair<std::string, Tensor>> slots;
  for (const auto& [name, entry] : wanted) {
    const auto found = file.tensors.find(name);
    if (entry->slot == nullptr || found == file.tensors.end()) continue;
    const auto& [first, values] = slots.try_emplace(entry->slot, name, found->second).first->second;
    if (!same(values, found->second))
      wrong.push_back(
          fmt::format("{} and {} differ, but the net has one tensor for both", first, name));
  }
  if (!options.allow_unexpected) {
    std::set<std::string> expected, unused;
    for (const auto& [name, entry] : wanted) expected.insert(name);
    for (const std::string& name : skipped_) expected.insert(renamed(name, options, unused));
    for (const std::string& name : unexpected(file, expected))
      wrong.push_back(fmt::format("{} is not expected", beginning(name)));
  }
  expect<DataError>(
      wrong.empty(),
      "load_pytorch: {}: {}; PyTorchOptions::names maps names, allow_unexpected ignores "
      "extra tensors",
      path.string(), listed(wrong));

  std::map<const Entry*, const Tensor*> loaded;
  for (const auto& [name, entry] : wanted) loaded[entry] = &file.tensors.at(name);
  for (const Entry& entry : entries_) entry.load(*loaded.at(&entry));
}

void PyTorchState::save(const std::filesystem::path& path, const PyTorchOptions& options) const {
  TensorFile file{.metadata = {{"format", "pt"}}};
  for (const auto& [name, entry] : named(options)) file.tensors[name] = entry->value;
  save_tensors(path, file);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
