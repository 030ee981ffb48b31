#pragma once

#include <tapegrad/core/error.h>

#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace tapegrad::TAPEGRAD_SCALAR::python {

/// The scopes that Python has open on this thread, the innermost last.
inline thread_local std::vector<const void*> open_scopes;

/// An object of the library that lives as long as a scope of one thread, such as a Tape, as a
/// context manager.
template <class Object>
class Scope {
  struct Held {  // since a Tape refuses `new`
    Object object;
  };

 public:
  template <class... Arguments>
  explicit Scope(const char* name, Arguments... arguments)
      : name_(name), make_([arguments...] { return new Held{Object(arguments...)}; }) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  /// What a thread has not left stays: its end would change the state of another thread.
  ~Scope() { static_cast<void>(held_.release()); }

  void enter() {
    expect<TapeError>(!used_, "{}: it has been used already; make another", name_);
    held_.reset(make_());
    used_ = true;
    thread_ = std::this_thread::get_id();
    open_scopes.push_back(this);
  }
  /// Throws TapeError on another thread, and while a scope is open that began inside of this one.
  void leave() {
    get();
    expect<TapeError>(open_scopes.back() == this,
                      "{}: a scope that began inside of it is still open; end that first", name_);
    open_scopes.pop_back();
    held_.reset();
  }
  /// Throws TapeError before the scope, after it, and on another thread.
  Object& get() const {
    expect<TapeError>(held_ != nullptr, "{}: it is not in scope; use it inside of `with`", name_);
    expect<TapeError>(thread_ == std::this_thread::get_id(), "{}: it belongs to another thread",
                      name_);
    return held_->object;
  }
  bool is_open() const { return held_ != nullptr; }

 private:
  const char* name_;
  std::function<Held*()> make_;
  std::unique_ptr<Held> held_;
  bool used_ = false;
  std::thread::id thread_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::python
