#pragma once

#include <sys/xattr.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>

namespace tapegrad::testing {

constexpr const char* acl_attribute = "system.posix_acl_access";

/// The access control list of a file, as the kernel keeps it; empty for a file without one.
inline std::string acl_of(const std::filesystem::path& file) {
  std::string acl(1000, '\0');
  const ssize_t size = ::getxattr(file.c_str(), acl_attribute, acl.data(), acl.size());
  return acl.substr(0, size < 0 ? 0 : static_cast<std::size_t>(size));
}

/// Lets one user more read and write files: this file, or, by another attribute, those that will be
/// made in a folder. False where the file system has no such lists.
inline bool give_access(const std::filesystem::path& path, std::uint32_t user,
                        const char* attribute = acl_attribute) {
  struct Entry {
    std::uint16_t kind, permissions;
    std::uint32_t who;
  };
  constexpr std::uint32_t version = 2, no_user = 0xffffffff;
  const Entry entries[] = {{0x01, 6, no_user},  // owner
                           {0x02, 6, user},
                           {0x04, 4, no_user},   // group
                           {0x10, 6, no_user},   // mask
                           {0x20, 0, no_user}};  // others
  char acl[sizeof version + sizeof entries];
  std::memcpy(acl, &version, sizeof version);
  std::memcpy(acl + sizeof version, entries, sizeof entries);
  return ::setxattr(path.c_str(), attribute, acl, sizeof acl, 0) == 0;
}

}  // namespace tapegrad::testing
