// SPDX-License-Identifier: MIT
// A high and a low program that share a GPU, for stage priorities.
#pragma once

#include "child.hpp"
#include "load.hpp"
#include "operator.hpp"
#include "priorities.hpp"

#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace verify {

using Done = tl::expected<void, std::string>; // the error says what failed

class Programs {
public:
    struct Shapes { // of a kernel
        spin::Shape high, low;
    };
    static tl::expected<Shapes, std::string> shapes_on(const Gpu& gpu);

    explicit Programs(const Shapes& shapes) : shapes_(shapes) {}
    virtual ~Programs() = default;
    Programs(const Programs&) = delete;
    Programs& operator=(const Programs&) = delete;

    // Before the first request of a way of sharing, and after its last.
    virtual Done begin(Sharing) { return {}; }
    virtual Done end(Sharing) { return {}; }
    // A request of the high program. Returns how long it took, in ns.
    virtual tl::expected<std::uint64_t, std::string> serve() = 0;
    // How this way of sharing holds the low program back, and lets it go on.
    virtual Done hold_back(Sharing sharing) = 0;
    virtual Done release(Sharing sharing) = 0;

    [[nodiscard]] std::uint64_t iterations_of_request() const;
    [[nodiscard]] std::uint64_t iterations_of_low_kernel() const;
    // See LowProgram.
    tl::expected<LowCounts, std::string> tell_low(const std::string& question);
    std::vector<std::uint64_t> low_times();
    // Confirmed by the driver, of the queue of the low program that has most.
    tl::expected<std::uint64_t, std::string> stops();

protected:
    virtual Child& low() = 0;
    Shapes shapes_;
    Operator by_;
};

// Raw KFD: the high program is this process, the low one a child, which it holds back as xpreemptd
// or libxpreempt would. by: a command that becomes the low program.
class KfdPrograms : public Programs {
public:
    static tl::expected<std::unique_ptr<KfdPrograms>, std::string> create(Gpu& gpu,
                                                                          const Words& by = {});

    // From now on requests have kernels of that shape.
    Done set_shape(const spin::Shape& shape);
    [[nodiscard]] const spin::Shape& shape() const { return shapes_.high; }

    tl::expected<std::uint64_t, std::string> serve() override;
    Done hold_back(Sharing sharing) override;
    Done release(Sharing sharing) override;

private:
    KfdPrograms(Gpu& gpu, const Shapes& shapes) : Programs(shapes), gpu_(gpu) {}
    Child& low() override { return *low_; }
    Done switch_low(Entries entries);

    Gpu& gpu_;
    std::unique_ptr<Load> high_;
    std::unique_ptr<Child> low_;
};

} // namespace verify
