#pragma once
// A failing script without what does not matter.
#include <functional>

#include "conformance/differential/script.hpp"

namespace smc::test {

/// Leaves out steps and makes sizes smaller as long as `fails`, which is asked at most `limit`
/// times.
script shrunk(script failing, const std::function<bool(const script&)>& fails, int limit);

}  // namespace smc::test
