// SPDX-License-Identifier: MIT
// Names of streams outlive no stream: HIP uses the addresses of destroyed ones again.
#include "capi/labels.hpp"

#include "control/wire.hpp"

#include <algorithm>
#include <cerrno>

namespace xpreempt::capi {

Result<std::string_view> Labels::check(std::string_view name) {
    if (name.size() >= control::wire::name_bytes)
        return fail(ENAMETOOLONG, Op::set_name);
    const bool control = std::ranges::any_of(
        name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
    if (control || (!name.empty() && name.front() >= '0' && name.front() <= '9'))
        return fail(EINVAL, Op::set_name);
    return name;
}

// Takes note of the first packet of a stream that was named before it.
bool Labels::is_current(hip::Stream stream, const Named& named) const {
    const std::uint64_t birth = mapping_.birth_of(stream);
    if (named.birth == 0)
        named.birth = birth;
    return named.birth == birth;
}

void Labels::name_stream(hip::Stream stream, std::string_view name) {
    const std::lock_guard lock(mutex_);
    if (name.empty())
        streams_.erase(stream);
    else
        streams_.insert_or_assign(stream, Named{mapping_.birth_of(stream), std::string(name)});
}

void Labels::forget_stream(hip::Stream stream) {
    const std::lock_guard lock(mutex_);
    if (stream != nullptr)
        streams_.erase(stream);
    else
        std::erase_if(streams_,
                      [this](const auto& entry) { return !is_current(entry.first, entry.second); });
}

std::string Labels::of_stream(hip::Stream stream) {
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find(stream);
    return found != streams_.end() && is_current(stream, found->second) ? found->second.name : "";
}

std::vector<hip::Stream> Labels::named_streams() {
    forget_stream(nullptr);
    const std::lock_guard lock(mutex_);
    std::vector<hip::Stream> streams;
    for (const auto& entry : streams_)
        streams.push_back(entry.first);
    return streams;
}

void Labels::add_xqueue(std::uint64_t handle, hip::Stream stream, hip::Stream given) {
    const std::lock_guard lock(mutex_);
    xqueues_.insert_or_assign(handle, Xqueue{stream, {}, given});
}

void Labels::name_xqueue(std::uint64_t handle, std::string_view name) {
    const std::lock_guard lock(mutex_);
    if (const auto found = xqueues_.find(handle); found != xqueues_.end())
        found->second.name = name;
}

void Labels::forget_xqueue(std::uint64_t handle) {
    const std::lock_guard lock(mutex_);
    xqueues_.erase(handle);
}

Labels::Xqueue Labels::of_xqueue(std::uint64_t handle) {
    const std::lock_guard lock(mutex_);
    const auto found = xqueues_.find(handle);
    return found == xqueues_.end() ? Xqueue{nullptr, {}, nullptr} : found->second;
}

} // namespace xpreempt::capi
