// SPDX-License-Identifier: MIT
// Opens the driver and checks that an operator can use it.
#include "driver/driver.hpp"

#include "kfd/module.hpp"
#include "output/names.hpp"
#include "processes/error_messages.hpp"

#include <fmt/format.h>

namespace cli {

namespace {

tl::unexpected<Failure> unsupported(std::string message) {
    return tl::make_unexpected(Failure{Exit::unsupported, 0, std::move(message)});
}

} // namespace

Outcome<Driver> connect(const Context& context) {
    Result<kfd::Device> device = context.open_device();
    if (!device)
        return tl::make_unexpected(device_failure(context, device.error()));
    const auto query = kfd::query_driver(*device, kfd::loaded_module(context.roots));
    if (!query)
        return tl::make_unexpected(device_failure(context, query.error()));
    if (query->abi_major != KFD_PREEMPT_ABI_MAJOR)
        return unsupported(fmt::format(
            "the driver speaks preemption ABI {}.{}, this command {}.{}: "
            "install a command and a driver of the same version",
            query->abi_major, query->abi_minor, KFD_PREEMPT_ABI_MAJOR, KFD_PREEMPT_ABI_MINOR));
    constexpr std::uint64_t needed = KFD_PREEMPT_CAP_BATCH | KFD_PREEMPT_CAP_OPERATOR;
    if ((query->caps & needed) != needed)
        return unsupported(fmt::format("this driver cannot stop queues of other processes (it "
                                       "offers {}): `kfd-preempt doctor` says what it can do",
                                       words_or_dash(cap_names(query->caps))));
    return Driver{std::move(*device), *query};
}

} // namespace cli
