// SPDX-License-Identifier: MIT
// A model with its streams, its pinned buffers and its right results.
#pragma once

#include "eager.hpp"
#include "results.hpp"

#include <cstdlib>

namespace models {

// The layer to spoil: MODELS_WRONG=resnet18:12, to see that a wrong one is found.
inline int wrong_layer_of(const Model& model) {
    const char* const text = std::getenv("MODELS_WRONG");
    const std::string wanted = model.name + ":";
    if (text == nullptr || std::strncmp(text, wanted.c_str(), wanted.size()) != 0)
        return -1;
    return std::atoi(text + wanted.size());
}

// Runs one model, batch by batch, in a stream: nullptr is the default one.
class Session {
public:
    Session(const Model& model, CachingAllocator& allocator, Products& products, hipStream_t stream)
        : model_(model), stream_(stream),
          eager_(allocator, products, stream, side_.get(), wrong_layer_of(model)),
          in_(static_cast<std::size_t>(model.input.count())), out_(most_values),
          words_(most_layers) {}

    [[nodiscard]] const Model& model() const { return model_; }
    [[nodiscard]] hipStream_t stream() const { return stream_; }
    [[nodiscard]] hipStream_t side() const { return side_.get(); }

    // Pinned memory, for the numbers of the next batch.
    [[nodiscard]] float* in() const { return in_.get(); }
    void fill(std::uint32_t batch) const {
        for (int i = 0; i < model_.input.count(); ++i)
            in_.get()[i] =
                static_cast<float>(input_of(batch, static_cast<std::uint32_t>(i), model_.tokens));
    }

    // As a training loop that prefetches: the copy is in a stream of its own.
    Result run() {
        Eager::Tensor x;
        {
            Eager::Tensor copied = eager_.tensor(model_.input);
            ready_.record(stream_); // the block may have been used by earlier work
            ready_.hold_up(copies_.get());
            HIP_MUST(hipMemcpyAsync(copied.data(), in_.get(), in_.bytes(), hipMemcpyHostToDevice,
                                    copies_.get()));
            eager_.record(copied, copies_.get());
            copied_.record(copies_.get());
            copied_.hold_up(stream_);
            x = copied;
        }
        queue(std::move(x));
        done_.record(stream_);
        done_.wait();
        return result();
    }

    // All of it in the session's stream, so that it can be captured.
    void queue() {
        Eager::Tensor x = eager_.tensor(model_.input);
        HIP_MUST(hipMemcpyAsync(x.data(), in_.get(), in_.bytes(), hipMemcpyHostToDevice, stream_));
        queue(std::move(x));
    }

    // Once the stream is done.
    [[nodiscard]] Result result() const {
        return {{out_.get(), out_.get() + values_}, {words_.get(), words_.get() + eager_.layers()}};
    }
    // A result that is not written again differs from the right one.
    void forget() const {
        std::fill_n(out_.get(), most_values, -99.0f);
        std::fill_n(words_.get(), most_layers, 0);
    }

private:
    static constexpr int most_values = 4096;

    void queue(Eager::Tensor x) {
        eager_.begin();
        const Eager::Tensor y = Forward<Eager>(eager_)(model_, std::move(x));
        values_ = y.shape.count();
        if (values_ > most_values)
            test::die(2, "%s has more than %d results", model_.name.c_str(), most_values);
        HIP_MUST(hipMemcpyAsync(out_.get(), y.data(),
                                static_cast<std::size_t>(values_) * sizeof(float),
                                hipMemcpyDeviceToHost, stream_));
        HIP_MUST(hipMemcpyAsync(words_.get(), eager_.words(),
                                static_cast<std::size_t>(eager_.layers()) * sizeof(Word),
                                hipMemcpyDeviceToHost, stream_));
    }

    const Model& model_;
    hipStream_t stream_;
    Stream side_;
    Stream copies_;
    Eager eager_;
    test::PinnedArray<float> in_;
    test::PinnedArray<float> out_;
    test::PinnedArray<Word> words_;
    Event ready_;
    Event copied_;
    Event done_;
    int values_ = 0;
};

} // namespace models
