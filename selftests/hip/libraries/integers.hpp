// SPDX-License-Identifier: MIT
// Matrices of small integers in the number formats of rocBLAS. Sums of their products are exact in
// each format that rocBLAS accumulates in, so the order of the additions doesn't matter, and a
// result is right in every bit or wrong.
#pragma once

#include "../check.hpp"

#include <rocblas/rocblas.h>

namespace test {

inline void must(rocblas_status status, const char* call, const char* file, int line) {
    if (status != rocblas_status_success)
        die(2, "%s:%d: %s: %s", file, line, call, rocblas_status_to_string(status));
}
#define ROCBLAS_MUST(call) test::must((call), #call, __FILE__, __LINE__)

class Handle {
public:
    Handle() { ROCBLAS_MUST(rocblas_create_handle(&handle_)); }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle() { (void)rocblas_destroy_handle(handle_); }
    [[nodiscard]] rocblas_handle get() const { return handle_; }

private:
    rocblas_handle handle_ = nullptr;
};

using Bytes = std::vector<std::uint8_t>;
using Integers = std::vector<std::int32_t>;

template <typename T> void append(Bytes& bytes, T value) {
    const auto* begin = reinterpret_cast<const std::uint8_t*>(&value);
    bytes.insert(bytes.end(), begin, begin + sizeof(value));
}

// An integer of at most 8 bits is exact in bfloat16: the upper half of the float.
inline std::uint16_t to_bfloat16(std::int32_t value) {
    const auto number = static_cast<float>(value);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &number, sizeof(bits));
    return static_cast<std::uint16_t>(bits >> 16);
}

// Values as rocBLAS reads and writes them.
inline Bytes encoded(rocblas_datatype type, const Integers& values) {
    Bytes bytes;
    bytes.reserve(values.size() * 8);
    for (const std::int32_t value : values) {
        switch (type) {
        case rocblas_datatype_f64_r: append(bytes, static_cast<double>(value)); break;
        case rocblas_datatype_f32_r: append(bytes, static_cast<float>(value)); break;
        case rocblas_datatype_f16_r: append(bytes, static_cast<_Float16>(value)); break;
        case rocblas_datatype_bf16_r: append(bytes, to_bfloat16(value)); break;
        case rocblas_datatype_i8_r: append(bytes, static_cast<std::int8_t>(value)); break;
        case rocblas_datatype_i32_r: append(bytes, value); break;
        default: die(64, "no encoding for the data type %d", static_cast<int>(type));
        }
    }
    return bytes;
}

// From -3 to 3.
inline Integers small_integers(std::size_t count, std::uint32_t seed) {
    Integers values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] =
            static_cast<std::int32_t>(scramble(static_cast<std::uint32_t>(i) + seed) % 7) - 3;
    return values;
}

} // namespace test
