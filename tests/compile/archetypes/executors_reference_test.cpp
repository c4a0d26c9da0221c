// The same executors with Asio's sockets: the proof that what is asked of streams is fair. A file
// of its own, for g++ 12 has false alarms about Asio's reactor here.
#include "compile/archetypes/executor_trials.hpp"

namespace smc::test {
namespace {

template <typename Executor>
struct ExecutorsOfAsio : testing::Test {};
TYPED_TEST_SUITE(ExecutorsOfAsio, own_executors);

TYPED_TEST(ExecutorsOfAsio, OfOwnMakeAreEnough) {
  perform_on_own_executor<reference_scene_on<TypeParam>>();
}
TYPED_TEST(ExecutorsOfAsio, OfOwnMakeAreRebound) {
  rebind_executor<reference_scene_on<TypeParam>>();
}

}  // namespace
}  // namespace smc::test
