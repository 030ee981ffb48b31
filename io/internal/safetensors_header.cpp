#include "tapegrad/io/internal/safetensors_header.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "tapegrad/core/error.h"
#include "tapegrad/core/printable.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

using nlohmann::json;

// The header, a tensor, its sizes. Anything nested deeper is not a header, so reading stops.
constexpr std::size_t header_depth = 3;

// Receives the header from the parser piece by piece.
class HeaderReader final : public nlohmann::json_sax<json> {
 public:
  HeaderReader(const std::string& file, std::size_t begin) : file_(file), begin_(begin) {}

  SafetensorsHeader header() && {
    expect<DataError>(is_object_, "load_tensors: {}: the header is not a JSON object", file_);
    return std::move(header_);
  }

  bool key(std::string& name) override {
    if (open_ > 1) {
      field_ = name;
      return true;
    }
    expect<DataError>(names_.insert(name).second, "load_tensors: {}: the header has {} twice",
                      file_, beginning(name));
    name_ = name;
    return true;
  }

  bool start_object(std::size_t) override {
    open();
    if (open_ == 1) is_object_ = true;
    if (open_ == 2) tensor_.emplace();
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override {
    open();
    if (open_ == 3 && tensor_ && field_ == "shape") sizes_ = &tensor_->shape.emplace();
    if (open_ == 3 && tensor_ && field_ == "data_offsets") sizes_ = &tensor_->offsets.emplace();
    return true;
  }
  bool end_array() override { return close(); }

  bool string(std::string& value) override {
    if (open_ == 2 && tensor_ && in_metadata())
      header_.metadata[field_] = value;
    else if (open_ == 2 && tensor_ && field_ == "dtype")
      tensor_->type = value;
    else
      other('"' + value + '"');
    return true;
  }
  bool number_unsigned(std::uint64_t value) override {
    if (sizes_ == nullptr || !std::in_range<Index>(value)) return other(std::to_string(value));
    expect<DataError>(sizes_->size() < Shape::max_rank, "{}: a list of more than {} sizes", where(),
                      int{Shape::max_rank});
    sizes_->push_back(static_cast<Index>(value));
    return true;
  }
  bool number_integer(std::int64_t value) override { return other(std::to_string(value)); }
  bool number_float(double, const std::string& written) override { return other(written); }
  bool boolean(bool value) override { return other(value ? "true" : "false"); }
  bool null() override { return other("null"); }
  bool binary(binary_t&) override { return false; }  // not in text

  bool parse_error(std::size_t position, const std::string&,
                   const json::exception& error) override {
    constexpr int out_of_range = 406;
    expect<DataError>(error.id != out_of_range,
                      "load_tensors: {}: the header has a number out of range", file_);
    throw DataError(fmt::format("load_tensors: {}: the header is not JSON at byte {}", file_,
                                begin_ + position - 1));
  }

 private:
  struct ReadTensor {
    std::optional<std::string> type;
    std::optional<std::vector<Index>> shape, offsets;
  };

  bool in_metadata() const { return name_ == metadata_name; }
  std::string where() const {
    return fmt::format("load_tensors: {}: tensor {}", file_, beginning(name_));
  }

  void open() {
    expect<DataError>(open_ < header_depth, "load_tensors: {}: the header is nested too deeply",
                      file_);
    expect_text(open_ != 2);
    ++open_;
  }
  bool close() {
    sizes_ = nullptr;
    if (--open_ == 1 && is_object_) finish_member();
    return true;
  }
  // A value that is not allowed in the header, or not here.
  bool other(const std::string& shown) {
    if (sizes_ != nullptr)
      throw DataError(fmt::format("{}: {} is not a size", where(), beginning(shown)));
    expect_text(open_ != 2);
    if (open_ == 1 && is_object_) finish_member();
    return true;
  }
  void expect_text(bool is_text) const {
    expect<DataError>(is_text || !tensor_ || !in_metadata(),
                      "load_tensors: {}: {} of {} is not text", file_, beginning(field_),
                      metadata_name);
  }

  void finish_member() {
    const std::optional<ReadTensor> read = std::exchange(tensor_, std::nullopt);
    if (in_metadata()) {
      expect<DataError>(read.has_value(), "load_tensors: {}: {} is not a JSON object", file_,
                        metadata_name);
      return;
    }
    expect<DataError>(
        read && read->type && read->shape && read->offsets && read->offsets->size() == 2,
        "{}: the header lacks a dtype, a shape or two data_offsets", where());
    const auto offset = [&](std::size_t i) {
      return static_cast<std::uint64_t>((*read->offsets)[i]);
    };
    try {
      header_.entries.push_back({name_, *read->type, Shape(*read->shape), offset(0), offset(1)});
    } catch (const ShapeError& error) {
      throw DataError(fmt::format("{}: {}", where(), error.what()));
    }
  }

  const std::string& file_;
  std::size_t begin_;
  SafetensorsHeader header_;
  std::size_t open_ = 0;    // objects and lists around
  bool is_object_ = false;  // the header
  std::set<std::string> names_;
  std::string name_, field_;             // of the tensor, or the metadata, and in it
  std::optional<ReadTensor> tensor_;     // or the metadata; nothing for what is not an object
  std::vector<Index>* sizes_ = nullptr;  // the list that is being read
};

// An object of members whose values are JSON.
std::string object_text(const std::map<std::string, std::string>& members) {
  std::string text = "{";
  for (const auto& [name, value] : members)
    text += fmt::format("{}{}:{}", text.size() > 1 ? "," : "", json(name).dump(), value);
  return text + "}";
}

}  // namespace

SafetensorsHeader parse_header(const std::string& file, std::span<const char> text,
                               std::size_t begin) {
  HeaderReader reader(file, begin);
  json::sax_parse(text.begin(), text.end(), &reader);
  return std::move(reader).header();
}

std::string header_text(const std::string& where, const std::vector<SafetensorsEntry>& entries,
                        const std::map<std::string, std::string>& metadata) {
  try {
    std::map<std::string, std::string> members, remarks;
    for (const SafetensorsEntry& entry : entries)
      members[entry.name] =
          fmt::format(R"({{"data_offsets":[{},{}],"dtype":{},"shape":[{}]}})", entry.begin,
                      entry.end, json(entry.type).dump(), fmt::join(entry.shape, ","));
    for (const auto& [key, value] : metadata) remarks[key] = json(value).dump();
    if (!metadata.empty()) members[metadata_name] = object_text(remarks);
    return object_text(members);
  } catch (const json::type_error&) {
    throw DataError(where + ": a name or a metadata value is not UTF-8");
  }
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
