// The main of every test program: a watchdog for each test, and a check that no test leaves
// anything open.
//
// SMC_TEST_TIMEOUT=SECONDS   how long one test may take (default 150; 0: for ever, for use in a
// debugger) RecordProperty("keeps", "why")   in a test: what it leaves open stays so on purpose (a
// cache of the process)
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "support/resources.hpp"
#include "support/watchdog.hpp"

namespace {

using smc::test::resources;

std::chrono::seconds time_limit() {
  const char* text = std::getenv("SMC_TEST_TIMEOUT");
  return std::chrono::seconds(text != nullptr ? std::atoi(text) : 150);
}

class guard : public testing::EmptyTestEventListener {
 public:
  void OnTestStart(const testing::TestInfo& test) override {
    before_ = resources::of_this_process();
    if (limit_.count() > 0) {
      watchdog_.arm(std::string(test.test_suite_name()) + "." + test.name(), limit_);
    }
  }

  void OnTestEnd(const testing::TestInfo& test) override {
    watchdog_.disarm();
    if (test.result()->Skipped() || keeps(*test.result())) return;
    const std::string left = what_is_left();
    if (!left.empty()) {
      ADD_FAILURE() << test.test_suite_name() << "." << test.name() << " left open:\n" << left;
    }
  }

 private:
  static bool keeps(const testing::TestResult& result) {
    for (int i = 0; i < result.test_property_count(); ++i) {
      if (std::string_view(result.GetTestProperty(i).key()) == "keeps") return true;
    }
    return false;
  }

  // A joined thread and a closed socket vanish from /proc a moment later: look again before
  // judging.
  std::string what_is_left() const {
    std::string left;
    for (int look = 0; look < 200; ++look) {
      left = growth(before_, resources::of_this_process());
      if (left.empty()) break;
      ::poll(nullptr, 0, 10);
    }
    return left;
  }

  smc::test::watchdog watchdog_;
  std::chrono::seconds limit_ = time_limit();
  resources before_;
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // After the printer in the list, so that it ends a test before the printer reports it.
  testing::UnitTest::GetInstance()->listeners().Append(new guard);
  // ThreadSanitizer starts a thread of its own with the first one of the program: not in the middle
  // of a test.
  std::thread([] {}).join();
  return RUN_ALL_TESTS();
}
