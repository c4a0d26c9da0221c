// Asio itself, where it is compiled separately (SMC_ASIO_SEPARATE_COMPILATION). A member of its own
// in the static library: a program that compiles <asio/impl/src.hpp> too has that one, and this
// stays out of it.

// Programs may use what the library does without.
#undef ASIO_NO_DEPRECATED
#undef ASIO_NO_TS_EXECUTORS
#include <asio/impl/src.hpp>
