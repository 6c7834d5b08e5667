// SPDX-License-Identifier: MIT
// Copies and fills of odd sizes at odd offsets, pageable and pinned, with their surroundings
// intact.
#include "check.hpp"

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t room = (5u << 20) + 8192; // of every buffer
constexpr std::uint8_t filler = 0xa5;

struct Shape {
    std::size_t bytes;
    std::size_t from; // offset in the source
    std::size_t to;   // offset in the destination
};

// Below, at and above what runtimes switch methods at: staging, blit kernel, SDMA.
constexpr Shape shapes[] = {
    {1, 0, 0},
    {3, 1, 2},
    {64, 0, 64},
    {255, 3, 5},
    {4096, 0, 4096},
    {4097, 4095, 1},
    {65536 + 7, 1, 4},
    {1u << 20, 0, 0},
    {16383, 11, 13},
    {262144, 4, 8},
    {(1u << 20) + 1, 3, 1},
    {(4u << 20) + 5, 7, 4093},
};

Bytes pattern(std::uint32_t salt) {
    Bytes bytes(room);
    for (std::size_t i = 0; i < room; i += 4) {
        const std::uint32_t word = test::scramble(static_cast<std::uint32_t>(i) + salt);
        std::memcpy(&bytes[i], &word, 4);
    }
    return bytes;
}

Bytes placed(const Bytes& source, const Shape& shape, std::size_t at) {
    Bytes want(room, filler);
    std::memcpy(&want[at], &source[shape.from], shape.bytes);
    return want;
}

struct Buffers {
    test::DeviceArray<std::uint8_t> a{room};
    test::DeviceArray<std::uint8_t> b{room};
    test::PinnedArray<std::uint8_t> in{room};
    test::PinnedArray<std::uint8_t> out{room};
    hipStream_t stream{};
    Buffers() { HIP_MUST(hipStreamCreate(&stream)); }
    Buffers(const Buffers&) = delete;
    Buffers& operator=(const Buffers&) = delete;
    ~Buffers() { (void)hipStreamDestroy(stream); }
};

std::string name_of(const char* what, const Shape& shape) {
    return std::string(what) + " of " + std::to_string(shape.bytes) + " bytes from offset " +
           std::to_string(shape.from) + " to " + std::to_string(shape.to);
}

// Host to device, device to device, device to host; the latter at the offset of the source again.
void pageable(const Buffers& buffers, const Bytes& source, const Shape& shape) {
    HIP_MUST(hipMemset(buffers.a.get(), filler, room));
    HIP_MUST(hipMemset(buffers.b.get(), filler, room));
    HIP_MUST(hipMemcpy(buffers.a.get() + shape.to, &source[shape.from], shape.bytes,
                       hipMemcpyHostToDevice));
    HIP_MUST(hipMemcpy(buffers.b.get() + shape.from, buffers.a.get() + shape.to, shape.bytes,
                       hipMemcpyDeviceToDevice));
    Bytes back(room, filler);
    HIP_MUST(hipMemcpy(&back[shape.to], buffers.b.get() + shape.from, shape.bytes,
                       hipMemcpyDeviceToHost));
    test::must_equal(name_of("pageable copy", shape).c_str(), back,
                     placed(source, shape, shape.to));
    test::must_equal(name_of("what is around a copy", shape).c_str(), buffers.b.to_host(),
                     placed(source, shape, shape.from));
}

void pinned(const Buffers& buffers, const Bytes& source, const Shape& shape) {
    std::memcpy(buffers.in.get(), source.data(), room);
    std::memset(buffers.out.get(), filler, room);
    HIP_MUST(hipMemsetAsync(buffers.a.get(), filler, room, buffers.stream));
    HIP_MUST(hipMemcpyAsync(buffers.a.get() + shape.to, buffers.in.get() + shape.from, shape.bytes,
                            hipMemcpyHostToDevice, buffers.stream));
    HIP_MUST(hipMemcpyAsync(buffers.b.get(), buffers.a.get(), room, hipMemcpyDeviceToDevice,
                            buffers.stream));
    HIP_MUST(hipMemcpyAsync(buffers.out.get(), buffers.b.get(), room, hipMemcpyDeviceToHost,
                            buffers.stream));
    HIP_MUST(hipStreamSynchronize(buffers.stream));
    test::must_equal(name_of("pinned copy on a stream", shape).c_str(), buffers.out.values(),
                     placed(source, shape, shape.to));
}

template <typename T> void put(Bytes& bytes, std::size_t at, T value, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        std::memcpy(&bytes[at + i * sizeof(T)], &value, sizeof(T));
}

void fills(const Buffers& buffers) {
    Bytes want(room, filler);
    std::uint8_t* const base = buffers.a.get();
    HIP_MUST(hipMemset(base, filler, room));
    HIP_MUST(hipMemset(base + 1, 0x3c, 4099));
    put<std::uint8_t>(want, 1, 0x3c, 4099);
    HIP_MUST(hipMemsetD16(base + 8194, 0xbeef, 1001));
    put<std::uint16_t>(want, 8194, 0xbeef, 1001);
    HIP_MUST(hipMemsetD32(base + 16388, static_cast<int>(0xdeadbe11u), 70001));
    put<std::uint32_t>(want, 16388, 0xdeadbe11u, 70001);
    HIP_MUST(hipMemset2D(base + (2u << 20), 513, 0x77, 101, 300));
    for (std::size_t row = 0; row < 300; ++row)
        put<std::uint8_t>(want, (2u << 20) + row * 513, 0x77, 101);
    HIP_MUST(hipDeviceSynchronize());
    test::must_equal("fills of 8, 16, 32 bits and of rows", buffers.a.to_host(), want);
}

// Rows of one pitch into rows of another: to the device, within it, and back.
void rows(const Buffers& buffers, const Bytes& source) {
    constexpr std::size_t width = 333;
    constexpr std::size_t height = 129;
    HIP_MUST(hipMemset(buffers.a.get(), filler, room));
    HIP_MUST(hipMemset(buffers.b.get(), filler, room));
    HIP_MUST(hipMemcpy2D(buffers.a.get() + 3, 512, &source[5], 400, width, height,
                         hipMemcpyHostToDevice));
    HIP_MUST(hipMemcpy2D(buffers.b.get() + 9, 640, buffers.a.get() + 3, 512, width, height,
                         hipMemcpyDeviceToDevice));
    Bytes back(room, filler);
    HIP_MUST(
        hipMemcpy2D(&back[1], 350, buffers.b.get() + 9, 640, width, height, hipMemcpyDeviceToHost));
    Bytes want(room, filler);
    Bytes middle(room, filler);
    for (std::size_t row = 0; row < height; ++row) {
        std::memcpy(&want[1 + row * 350], &source[5 + row * 400], width);
        std::memcpy(&middle[9 + row * 640], &source[5 + row * 400], width);
    }
    test::must_equal("rows", back, want);
    test::must_equal("what is around rows", buffers.b.to_host(), middle);
}

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("roundtrip", argc, argv, 1);
    const Buffers buffers;
    const Bytes source = pattern(1);
    test::Digest digest;
    digest.add_bytes(source.data(), 4096);
    while (rounds.next()) {
        for (const Shape& shape : shapes) {
            pageable(buffers, source, shape);
            pinned(buffers, source, shape);
        }
        fills(buffers);
        if (HIP_VERSION_MAJOR < 7)
            rows(buffers, source);
    }
    // After rows at odd addresses the next copy of HIP 7.2.4 ends in an assertion of ROCr.
    if (HIP_VERSION_MAJOR >= 7)
        rows(buffers, source);
    return test::passed(rounds, digest, std::to_string(std::size(shapes)) + " shapes, fills, rows");
}
