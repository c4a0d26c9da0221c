#include "setting.hpp"

namespace smc::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Everywhere, Field,
                         testing::Combine(all_carriers(),
                                          testing::Values(place::event_loop, place::io_context)),
                         name_of_setting);
INSTANTIATE_TEST_SUITE_P(Everywhere, FieldLocal,
                         testing::Combine(testing::Values(carrier::smc_d_mapped,
                                                          carrier::smc_d_copying),
                                          testing::Values(place::event_loop, place::io_context)),
                         name_of_setting);

}  // namespace
}  // namespace smc::test
