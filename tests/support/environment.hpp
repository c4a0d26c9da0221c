#pragma once
#include <cstdlib>
#include <optional>
#include <string>

namespace smc::test {

/// Sets (or with nullopt unsets) an environment variable, and puts back what was there.
class environment_variable {
 public:
  environment_variable(std::string name, const std::optional<std::string>& value)
      : name_(std::move(name)) {
    if (const char* text = std::getenv(name_.c_str())) before_ = text;
    set(value);
  }
  ~environment_variable() { set(before_); }
  environment_variable(const environment_variable&) = delete;
  environment_variable& operator=(const environment_variable&) = delete;

 private:
  void set(const std::optional<std::string>& value) const {
    if (value) {
      ::setenv(name_.c_str(), value->c_str(), 1);
    } else {
      ::unsetenv(name_.c_str());
    }
  }

  std::string name_;
  std::optional<std::string> before_;
};

}  // namespace smc::test
