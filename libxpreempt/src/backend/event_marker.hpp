// SPDX-License-Identifier: MIT
// A HIP event as the marker behind what was put into a stream.
#pragma once

#include "hip/runtime.hpp"
#include "xqueue/hw_queue.hpp"

#include <memory>

namespace xpreempt::backend {

// Not of a stream that is captured. device: of the stream, see hip::device_of().
Result<std::shared_ptr<xqueue::Marker>> place_marker(const hip::Functions& hip, hip::Stream stream,
                                                     int device);

} // namespace xpreempt::backend
