#pragma once

#include <string>

namespace tapegrad::testing {

/// What happens to one system call on files, as "CALL:NUMBER:WHAT": the NUMBER-th call (from 1) of
/// that name in this process
///   fails with an errno          "fsync:1:5"
///   writes half of what it is to "write:2:short"
///   kills the process            "rename:3:kill"   a write first writes half
/// Programs that preload the library read it from TAPEGRAD_FILE_FAULT.
void set_file_fault(const std::string& fault);
/// Whether it has happened.
bool file_fault_struck();

/// A fault while in scope.
struct FileFault {
  explicit FileFault(const std::string& fault) { set_file_fault(fault); }
  ~FileFault() { set_file_fault(""); }
  FileFault(const FileFault&) = delete;
  FileFault& operator=(const FileFault&) = delete;
};

}  // namespace tapegrad::testing
