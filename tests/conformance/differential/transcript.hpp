#pragma once
// What came of a script: for each step that was taken, bytes, counts and classes of errors.
#include <string>
#include <vector>

#include "conformance/differential/script.hpp"
#include "conformance/operation.hpp"
#include "framework/stream/setting.hpp"

namespace smc::test {

struct transcript {
  std::vector<std::string> lines;
  std::string failure;  ///< why it was not played to its end; what hangs, for one

  bool operator==(const transcript&) const = default;
};

/// Plays a script with new peers in a new context.
///
/// A step is left out where its outcome would depend on anything but the steps before: where TCP
/// itself is free, or in time. What a step leaves pending is waited for in the step that ends it.
transcript play(const script& what, carrier by, place where, style how);

}  // namespace smc::test
