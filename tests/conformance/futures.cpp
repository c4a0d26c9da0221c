// Handlers of asio::use_future run on the system's executor, whose threads stay as long as the
// process: started here, before a test begins, they are no leak of the test that uses a future
// first.
#include <gtest/gtest.h>

#include <asio/post.hpp>
#include <asio/system_executor.hpp>
#include <asio/use_future.hpp>

namespace {

class system_threads : public testing::Environment {
 public:
  void SetUp() override { asio::post(asio::system_executor(), asio::use_future).get(); }
};

[[maybe_unused]] const auto* const started = testing::AddGlobalTestEnvironment(new system_threads);

}  // namespace
