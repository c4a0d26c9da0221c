// Streams and acceptors whose executor can do what Asio asks of one, and nothing else.
#include "compile/archetypes/executor_trials.hpp"

namespace smc::test {
namespace {

template <typename Executor>
struct Executors : testing::Test {};
TYPED_TEST_SUITE(Executors, own_executors);

TYPED_TEST(Executors, OfOwnMakeAreEnough) { perform_on_own_executor<own_scene_on<TypeParam>>(); }
TYPED_TEST(Executors, OfOwnMakeAreRebound) { rebind_executor<own_scene_on<TypeParam>>(); }

}  // namespace
}  // namespace smc::test
