// SPDX-License-Identifier: MIT
// The models on the GPU as PyTorch runs them in its eager mode: kernels one by one in a stream,
// each result in a new block of the caching allocator.
#pragma once

#include "allocator.hpp"
#include "forward.hpp"
#include "kernels.hpp"
#include "results.hpp"

namespace models {

// y = weights * x: of our own, or of a library.
struct Products {
    Products() = default;
    Products(const Products&) = delete;
    Products& operator=(const Products&) = delete;
    virtual ~Products() = default;
    virtual void multiply(hipStream_t stream, const float* weights, const float* x, float* y,
                          kernels::Matrix size, int depth) = 0;
};

inline dim3 groups_for(int lanes) {
    return {(static_cast<unsigned>(lanes) + kernels::lanes - 1) / kernels::lanes};
}

struct OwnProducts : Products {
    void multiply(hipStream_t stream, const float* weights, const float* x, float* y,
                  kernels::Matrix size, int depth) override {
        kernels::multiply<<<groups_for(size.rows * size.columns), kernels::lanes, 0, stream>>>(
            weights, x, y, size, depth);
        LAUNCH_MUST();
    }
};

// As torch.cuda.Stream: it does not wait for the default stream.
class Stream {
public:
    Stream() { HIP_MUST(hipStreamCreateWithFlags(&stream_, hipStreamNonBlocking)); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() { (void)hipStreamDestroy(stream_); }
    [[nodiscard]] hipStream_t get() const { return stream_; }

private:
    hipStream_t stream_ = nullptr;
};

class Event {
public:
    Event() { HIP_MUST(hipEventCreateWithFlags(&event_, hipEventDisableTiming)); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    ~Event() { (void)hipEventDestroy(event_); }
    void record(hipStream_t stream) const { HIP_MUST(hipEventRecord(event_, stream)); }
    // The stream waits, not the CPU.
    void hold_up(hipStream_t stream) const { HIP_MUST(hipStreamWaitEvent(stream, event_, 0)); }
    void wait() const { HIP_MUST(hipEventSynchronize(event_)); }

private:
    hipEvent_t event_ = nullptr;
};

constexpr int most_layers = 512;

class Eager {
public:
    struct Tensor {
        Shape shape;
        int addends = 1; // of the products that it is the sums of
        CachingAllocator::Memory memory{};
        [[nodiscard]] float* data() const { return reinterpret_cast<float*>(memory->begin); }
    };

    // wrong is the number of a layer whose result is spoilt on purpose, or -1.
    Eager(CachingAllocator& allocator, Products& products, hipStream_t stream, hipStream_t side,
          int wrong = -1)
        : allocator_(allocator), products_(products), main_(stream), side_(side), current_(stream),
          wrong_(wrong), words_(most_layers) {}

    // The number of the first layer is 0 again.
    void begin() { layers_ = 0; }
    [[nodiscard]] int layers() const { return layers_; }
    // A word for each layer: the fold of its result.
    [[nodiscard]] const Word* words() const { return words_.get(); }

    [[nodiscard]] Tensor tensor(Shape shape, int addends = 1) {
        const auto bytes = static_cast<std::size_t>(shape.count()) * sizeof(float);
        return {shape, addends, allocator_.allocate(bytes, current_)};
    }
    void record(const Tensor& x, hipStream_t stream) { allocator_.record(x.memory, stream); }

    Tensor product(std::uint32_t weights, int features, const Tensor& x) {
        const int depth = x.shape.features;
        Tensor y = tensor(with(x.shape, features), depth);
        products_.multiply(current_, parameter(weights, features * depth), x.data(), y.data(),
                           matrix(y.shape), depth);
        return y;
    }

    Tensor convolution(std::uint32_t weights, const Layer& layer, const Tensor& x) {
        const Shape to = after_window(layer, x.shape);
        const int depth = x.shape.features * layer.kernel * layer.kernel;
        if (layer.kernel == 1 && layer.stride == 1)
            return product(weights, layer.width, x);
        const Tensor unfolded = tensor(with(to, depth));
        launch(kernels::unfold, unfolded.shape.count(), x.data(), unfolded.data(),
               window(layer, x.shape, to), unfolded.shape.count());
        return product(weights, layer.width, unfolded);
    }

    Tensor depthwise(std::uint32_t weights, const Layer& layer, const Tensor& x) {
        const int places = layer.kernel * layer.kernel;
        Tensor y = tensor(after_window(layer, x.shape), places);
        launch(kernels::depthwise, y.shape.count(), parameter(weights, x.shape.features * places),
               x.data(), y.data(), window(layer, x.shape, y.shape), y.shape.count());
        return y;
    }

    Tensor max_pool(const Layer& layer, const Tensor& x) {
        Tensor y = tensor(after_window(layer, x.shape));
        launch(kernels::max_pool, y.shape.count(), x.data(), y.data(),
               window(layer, x.shape, y.shape), y.shape.count());
        return y;
    }

    Tensor norm(std::uint32_t weights, const Tensor& x) {
        Tensor y = tensor(x.shape);
        launch(kernels::norm, y.shape.count(), parameter(weights, 2 * x.shape.features), x.data(),
               y.data(), matrix(y.shape), x.addends);
        return y;
    }

    Tensor relu(const Tensor& x) {
        Tensor y = tensor(x.shape);
        launch(kernels::relu, y.shape.count(), x.data(), y.data(), y.shape.count());
        return y;
    }

    Tensor add(const Tensor& x, const Tensor& other) {
        Tensor y = tensor(x.shape);
        launch(kernels::add, y.shape.count(), x.data(), other.data(), y.data(), y.shape.count());
        return y;
    }

    Tensor average_pool(const Tensor& x) {
        Tensor y = tensor({x.shape.features, x.shape.batch, 1, 1});
        launch(kernels::average_pool, y.shape.count(), x.data(), y.data(), x.shape.pixels(),
               y.shape.count());
        return y;
    }

    Tensor layer_norm(const Tensor& x) {
        Tensor y = tensor(x.shape);
        launch_groups(kernels::layer_norm, dim3(static_cast<unsigned>(x.shape.columns())), x.data(),
                      y.data(), matrix(x.shape));
        return y;
    }

    Tensor embedding(std::uint32_t weights, const Layer& layer, const Tensor& tokens) {
        Tensor y = tensor(with(tokens.shape, layer.width));
        launch(kernels::embedding, y.shape.count(), parameter(weights, layer.parts * layer.width),
               tokens.data(), y.data(), matrix(y.shape));
        return y;
    }

    Tensor attention(const Layer& layer, const Tensor& query, const Tensor& key,
                     const Tensor& value) {
        Tensor y = tensor(query.shape);
        const int size = query.shape.features / layer.parts;
        const kernels::Heads heads{size, query.shape.width, query.shape.columns(), layer.causal};
        launch_groups(
            kernels::attention,
            dim3(static_cast<unsigned>(heads.columns), static_cast<unsigned>(layer.parts)),
            query.data(), key.data(), value.data(), y.data(), heads);
        return y;
    }

    Tensor lstm(std::uint32_t weights, const Layer& layer, const Tensor& gates) {
        const int width = layer.width;
        const Shape state{width, gates.shape.batch, 1, 1};
        Tensor y = tensor(with(gates.shape, width));
        const Tensor cells = zeros(state);
        const Tensor hidden = zeros(state);
        kernels::Step step{width, state.batch, gates.shape.width, 0,
                           bits_of(gates.addends + width)};
        for (; step.token < step.tokens; ++step.token) {
            const Tensor recurrent = product(weights, 4 * width, hidden);
            launch(kernels::lstm_cell, state.count(), gates.data(), recurrent.data(), cells.data(),
                   hidden.data(), y.data(), step);
        }
        return y;
    }

    // From here until leave() work goes to the side stream, behind the work that makes x.
    void fork(const Tensor& x) {
        forked_.record(main_);
        forked_.hold_up(side_);
        record(x, side_);
        current_ = side_;
    }
    void leave() {
        left_.record(side_);
        current_ = main_;
    }
    // The main stream uses a tensor of the side stream.
    void join(const Tensor& x) {
        left_.hold_up(main_);
        record(x, main_);
    }

    void finish(const Layer& /*layer*/, const Tensor& x) {
        if (layers_ == wrong_)
            launch_groups(kernels::spoil, dim3(1), x.data());
        if (layers_ == most_layers)
            test::die(2, "a model has more than %d layers", most_layers);
        kernels::fold<<<1, kernels::lanes, 0, current_>>>(x.data(), x.shape.count(),
                                                          words_.get() + layers_++);
        LAUNCH_MUST();
    }

private:
    static Shape with(Shape shape, int features) {
        shape.features = features;
        return shape;
    }
    static kernels::Matrix matrix(const Shape& shape) { return {shape.features, shape.columns()}; }
    static kernels::Window window(const Layer& layer, const Shape& from, const Shape& to) {
        return {from, to, layer.kernel, layer.stride};
    }

    Tensor zeros(Shape shape) {
        Tensor x = tensor(shape);
        HIP_MUST(hipMemsetAsync(x.data(), 0,
                                static_cast<std::size_t>(shape.count()) * sizeof(float), current_));
        return x;
    }

    template <typename Kernel, typename... Arguments>
    void launch(Kernel kernel, int lanes, Arguments... arguments) {
        launch_groups(kernel, groups_for(lanes), arguments...);
    }
    template <typename Kernel, typename... Arguments>
    void launch_groups(Kernel kernel, dim3 groups, Arguments... arguments) {
        kernel<<<groups, kernels::lanes, 0, current_>>>(arguments...);
        LAUNCH_MUST();
    }

    // Parameters stay on the GPU from their first use on.
    const float* parameter(std::uint32_t number, int count) {
        while (parameters_.size() <= number)
            parameters_.emplace_back();
        auto& parameter = parameters_[number];
        if (!parameter) {
            std::vector<float> weights(static_cast<std::size_t>(count));
            for (std::size_t i = 0; i < weights.size(); ++i)
                weights[i] = static_cast<float>(weight_of(number, static_cast<std::uint32_t>(i)));
            parameter = std::make_unique<test::DeviceArray<float>>(weights);
        }
        return parameter->get();
    }

    CachingAllocator& allocator_;
    Products& products_;
    hipStream_t main_;
    hipStream_t side_;
    hipStream_t current_;
    int wrong_;
    int layers_ = 0;
    test::DeviceArray<Word> words_;
    std::vector<std::unique_ptr<test::DeviceArray<float>>> parameters_;
    Event forked_;
    Event left_;
};

} // namespace models
