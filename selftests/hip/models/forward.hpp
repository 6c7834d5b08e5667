// SPDX-License-Identifier: MIT
// Runs the layers of a model on a machine: the reference on the CPU, or the GPU.
#pragma once

#include "definitions.hpp"

#include <utility>

namespace models {

// Parameters have numbers, in the order in which the layers ask for them.
template <typename Machine> class Forward {
public:
    using Tensor = typename Machine::Tensor;

    explicit Forward(Machine& machine) : machine_(machine) {}

    Tensor operator()(const Model& model, Tensor input) {
        parameter_ = 0;
        return through(model.layers, std::move(input));
    }

private:
    Tensor through(const Layers& layers, Tensor x) {
        for (const Layer& layer : layers) {
            x = through(layer, x);
            machine_.finish(layer, x);
        }
        return x;
    }

    Tensor through(const Layer& layer, const Tensor& x) {
        switch (layer.kind) {
        case Kind::linear: return machine_.product(next(), layer.width, x);
        case Kind::convolution: return machine_.convolution(next(), layer, x);
        case Kind::depthwise: return machine_.depthwise(next(), layer, x);
        case Kind::norm: return machine_.norm(next(), x);
        case Kind::relu: return machine_.relu(x);
        case Kind::max_pool: return machine_.max_pool(layer, x);
        case Kind::average_pool: return machine_.average_pool(x);
        case Kind::layer_norm: return machine_.layer_norm(x);
        case Kind::embedding: return machine_.embedding(next(), layer, x);
        case Kind::attention: return attention(layer, x);
        case Kind::lstm: return lstm(layer, x);
        case Kind::residual: return residual(layer, x);
        }
        return x;
    }

    Tensor attention(const Layer& layer, const Tensor& x) {
        const Tensor query = projected(x);
        const Tensor key = projected(x);
        const Tensor value = projected(x);
        return machine_.attention(layer, query, key, value);
    }
    Tensor projected(const Tensor& x) {
        const std::uint32_t weights = next();
        return machine_.norm(next(), machine_.product(weights, x.shape.features, x));
    }

    // The products with the input of all steps are one; those with the state are one a step.
    Tensor lstm(const Layer& layer, const Tensor& x) {
        const Tensor gates = machine_.product(next(), 4 * layer.width, x);
        return machine_.lstm(next(), layer, gates);
    }

    // The shortcut runs in a side stream, beside the body.
    Tensor residual(const Layer& layer, const Tensor& x) {
        Tensor shortcut = x;
        if (!layer.shortcut.empty()) {
            machine_.fork(x);
            shortcut = through(layer.shortcut, x);
            machine_.leave();
        }
        const Tensor body = through(layer.body, x);
        if (!layer.shortcut.empty())
            machine_.join(shortcut);
        return machine_.add(body, shortcut);
    }

    std::uint32_t next() { return parameter_++; }

    Machine& machine_;
    std::uint32_t parameter_ = 0;
};

} // namespace models
