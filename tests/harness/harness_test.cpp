#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace {

struct outcome {
  bool passed = false;
  std::string output;
};

// Runs one test of harness_subject, which lies beside this program.
outcome run_subject(const std::string& test, const std::string& seconds = "60") {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string command = "SMC_TEST_TIMEOUT=" + seconds + " '" +
                              (folder / "harness_subject").string() + "' --gtest_filter=Subject." +
                              test + " 2>&1";
  outcome result;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> chunk;
  while (const std::size_t n = std::fread(chunk.data(), 1, chunk.size(), pipe))
    result.output.append(chunk.data(), n);
  const int status = ::pclose(pipe);
  result.passed = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return result;
}

void expect_leak(const std::string& test, const std::string& text) {
  const outcome result = run_subject(test);
  EXPECT_FALSE(result.passed) << result.output;
  EXPECT_NE(result.output.find("left open"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find(text), std::string::npos) << result.output;
}

TEST(Harness, PassesACleanTest) {
  const outcome result = run_subject("Clean");
  EXPECT_TRUE(result.passed) << result.output;
}

TEST(Harness, FailsATestThatLeavesADescriptor) {
  expect_leak("LeavesADescriptor", "/dev/full: 0 before, 1 after");
}
TEST(Harness, FailsATestThatLeavesAMapping) {
  expect_leak("LeavesAMapping", "library's memory: 0 before, 1 after");
}
TEST(Harness, FailsATestThatLeavesAThread) { expect_leak("LeavesAThread", "threads: "); }

TEST(Harness, LetsATestKeepWhatItSaysItKeeps) {
  const outcome result = run_subject("KeepsADescriptorOnPurpose");
  EXPECT_TRUE(result.passed) << result.output;
}

TEST(Harness, AllowsProcessWideDescriptorsUpToTheirCount) {
  const outcome one = run_subject("OpensAProcessWideDescriptor");
  EXPECT_TRUE(one.passed) << one.output;
  expect_leak("OpensTwoOfAProcessWideDescriptor", "/dev/zero: 1 before, 2 after");
}

void expect_ended_with_stacks(const std::string& test) {
  const outcome result = run_subject(test, "1");
  EXPECT_FALSE(result.passed);
  EXPECT_NE(result.output.find("Subject." + test + " does not end"), std::string::npos)
      << result.output;
  // The debugger names functions; the program by itself tells at least its own name beside each
  // address.
  const bool debugger = std::system("command -v gdb >/dev/null") == 0;
  EXPECT_NE(result.output.find(debugger ? "TestBody" : "harness_subject("), std::string::npos)
      << result.output;
}

TEST(Harness, EndsATestThatSleepsForEverAndPrintsItsStack) { expect_ended_with_stacks("Sleeps"); }
TEST(Harness, EndsATestThatSpinsForEverAndPrintsItsStack) { expect_ended_with_stacks("Spins"); }

}  // namespace
