#include "tapegrad/io/npz.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "tapegrad/core/error.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/io/file.h"
#include "tapegrad/io/internal/honest_size.h"
#include "tapegrad/io/internal/npy_array.h"
#include "tapegrad/io/internal/zip.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

constexpr std::string_view ending = ".npy";

class Archive {
 public:
  explicit Archive(const std::filesystem::path& path)
      : path_(path.string()),
        file_(read_file(path)),
        members_(zip_members(file_.bytes(), "npz: " + path_, honest_size(file_.stored_size()))) {}

  const std::vector<ZipMember>& members() const { return members_; }

  // Reads a member with npy_tensor or npy_indices.
  template <class Array>
  Array read(const ZipMember& member,
             Array (*array_of)(std::span<const std::byte> bytes, const std::string& file)) const {
    const std::string where = fmt::format("{}: member {}", path_, beginning(member.name));
    std::vector<std::byte> room;
    return array_of(zip_content(member, room, "npz: " + where), where);
  }

 private:
  std::string path_;
  FileBytes file_;
  std::vector<ZipMember> members_;
};

template <class Array>
Array read_member(const std::filesystem::path& path, const std::string& name,
                  Array (*array_of)(std::span<const std::byte> bytes, const std::string& file)) {
  const Archive archive(path);
  const auto found =
      std::find_if(archive.members().begin(), archive.members().end(),
                   [&](const ZipMember& member) { return member.name == name + ".npy"; });
  expect<DataError>(found != archive.members().end(), "npz: {} has no member {}.npy", path.string(),
                    beginning(name));
  return archive.read(*found, array_of);
}

template <class Array>
void add(ZipWriter& archive, const std::string& name, const Array& x, const std::string& where) {
  constexpr std::size_t longest = 65535 - ending.size();
  expect_defined("write_npz", x);
  expect<DataError>(name.size() <= longest && name.find('\0') == std::string::npos,
                    "{}: no member can be called {}: it has {} bytes", where, beginning(name),
                    name.size());
  archive.add(name + std::string(ending), npy_header(x), std::as_bytes(x.values()));
}

}  // namespace

std::map<std::string, Tensor> read_npz(const std::filesystem::path& path) {
  const Archive archive(path);
  std::map<std::string, Tensor> tensors;
  for (const ZipMember& member : archive.members()) {
    const std::string_view name = member.name;
    expect<DataError>(name.ends_with(ending),
                      "npz: {}: member {} is not an array: its name does not "
                      "end in .npy",
                      path.string(), beginning(name));
    tensors.emplace(name.substr(0, name.size() - ending.size()), archive.read(member, npy_tensor));
  }
  return tensors;
}

Tensor read_npz(const std::filesystem::path& path, const std::string& name) {
  return read_member(path, name, npy_tensor);
}

Indices read_npz_indices(const std::filesystem::path& path, const std::string& name) {
  return read_member(path, name, npy_indices);
}

void write_npz(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors,
               const std::map<std::string, Indices>& indices) {
  const std::string where = "npz: " + path.string();
  ZipWriter archive;
  for (const auto& [name, x] : tensors) add(archive, name, x, where);
  for (const auto& [name, x] : indices) {
    expect<DataError>(tensors.count(name) == 0, "{}: the name {} is taken", where, beginning(name));
    add(archive, name, x, where);
  }
  write_file(path, archive.finish());
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
