// Every operation with handlers that can do what Asio asks of a handler, and nothing else.
#include "compile/archetypes/handler.hpp"
#include "compile/archetypes/scene.hpp"

namespace smc::test {
namespace {

template <template <typename> typename Handler, typename Scene>
auto called_once(Scene& s, bool associated) {
  return [&s, associated]<typename Signature>(auto initiate) {
    record r(s.context);
    initiate(Handler<Signature>(r));
    EXPECT_EQ(r.called, 0) << "inside the initiating function";
    EXPECT_TRUE(s.comes([&r] { return r.called != 0; }));
    EXPECT_EQ(r.called, 1);
    EXPECT_FALSE(r.error) << r.error.message();
    EXPECT_EQ(r.executed != 0, associated);
    EXPECT_EQ(r.slots_filled != 0, associated);
    EXPECT_EQ(r.allocated != 0, associated);
    EXPECT_EQ(r.live, 0);
  };
}

template <typename Scene>
struct Handlers : testing::Test {};
TYPED_TEST_SUITE(Handlers, scenes_to_try);

TYPED_TEST(Handlers, MayNameWhatTheyNeedByMembers) {
  TypeParam s;
  every_operation(s, called_once<member_handler>(s, true));
}

TYPED_TEST(Handlers, MayNameWhatTheyNeedBySpecialisedTraits) {
  TypeParam s;
  read_and_write(s, called_once<foreign_handler>(s, true));
  transfer_without_copy(s, called_once<foreign_handler>(s, true));
}

TYPED_TEST(Handlers, MayNameNothing) {
  TypeParam s;
  read_and_write(s, called_once<bare_handler>(s, false));
}

// Asio's own operations call a handler as an lvalue.
TEST(HandlersOfOurs, MayBeCallableAsRvaluesOnly) {
  own_scene s;
  read_and_write(s, called_once<rvalue_handler>(s, false));
  transfer_without_copy(s, called_once<rvalue_handler>(s, false));
}

}  // namespace
}  // namespace smc::test
