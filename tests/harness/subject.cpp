// Tests that do what tests must not: run one by one by harness_test.cpp.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <thread>

#include "support/resources.hpp"

namespace {

const smc::test::process_wide_descriptors one_zero_device{"/dev/zero", 1};

int open_device(const char* path) { return ::open(path, O_RDONLY | O_CLOEXEC); }

TEST(Subject, Clean) {
  const int fd = open_device("/dev/full");
  ASSERT_GE(fd, 0);
  ::close(fd);
  std::thread([] {}).join();
}

TEST(Subject, LeavesADescriptor) { EXPECT_GE(open_device("/dev/full"), 0); }

TEST(Subject, LeavesAMapping) {
  const int fd = ::memfd_create("smc-left", MFD_CLOEXEC);
  ASSERT_EQ(::ftruncate(fd, 4096), 0);
  EXPECT_NE(::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0), MAP_FAILED);
  ::close(fd);
}

TEST(Subject, LeavesAThread) {
  std::thread([] { ::pause(); }).detach();
}

TEST(Subject, KeepsADescriptorOnPurpose) {
  RecordProperty("keeps", "to show that it may");
  EXPECT_GE(open_device("/dev/full"), 0);
}

TEST(Subject, OpensAProcessWideDescriptor) { EXPECT_GE(open_device("/dev/zero"), 0); }

TEST(Subject, OpensTwoOfAProcessWideDescriptor) {
  EXPECT_GE(open_device("/dev/zero"), 0);
  EXPECT_GE(open_device("/dev/zero"), 0);
}

TEST(Subject, Sleeps) { ::pause(); }

TEST(Subject, Spins) {
  volatile bool stop = false;  // or the compiler drops a loop without effect
  while (!stop) {
  }
}

}  // namespace
