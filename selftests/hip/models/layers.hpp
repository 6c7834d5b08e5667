// SPDX-License-Identifier: MIT
// A model as data: a list of layers, as torch.nn.Sequential has one. Some layers have lists of
// their own.
#pragma once

#include <vector>

namespace models {

// A matrix with a row for each feature or channel. Its columns are the positions of the batch:
// pixels of images, or tokens, which are pixels of images of height 1.
struct Shape {
    int features = 1;
    int batch = 1;
    int height = 1;
    int width = 1;

    [[nodiscard]] int pixels() const { return height * width; }
    [[nodiscard]] int columns() const { return batch * pixels(); }
    [[nodiscard]] int count() const { return features * columns(); }
};

enum class Kind {
    linear,       // a product with weights, for each position
    convolution,  // the same for the neighbourhood of each position
    depthwise,    // a convolution of each channel by itself
    norm,         // scale and bias of each channel, and a shift back to small integers
    relu,         // max(x, 0)
    max_pool,     // the greatest of each neighbourhood
    average_pool, // the mean of each channel of an image, rounded down
    layer_norm,   // each position less its mean, divided by its mean deviation
    embedding,    // a row of a table for each token
    attention,    // each token with those of its sequence, by a softmax to the base 2
    lstm,         // one step for each token of a sequence
    residual,     // the sum of two lists of layers
};

struct Layer {
    Kind kind;
    int width = 0;  // features of the result
    int kernel = 1; // edge of a neighbourhood
    int stride = 1;
    int parts = 1;       // heads of an attention, rows of a table
    bool causal = false; // an attention that sees earlier tokens only
    std::vector<Layer> body{};
    std::vector<Layer> shortcut{};
};
using Layers = std::vector<Layer>;

inline Shape after_window(const Layer& layer, Shape shape) {
    const auto edge = [&](int from) {
        return (from + 2 * ((layer.kernel - 1) / 2) - layer.kernel) / layer.stride + 1;
    };
    shape.height = edge(shape.height);
    shape.width = edge(shape.width);
    return shape;
}

inline Layers join(const std::vector<Layers>& lists) {
    Layers all;
    for (const Layers& list : lists)
        all.insert(all.end(), list.begin(), list.end());
    return all;
}

inline Layers linear(int width) {
    return {{.kind = Kind::linear, .width = width}, {.kind = Kind::norm}};
}
inline Layers convolution(int width, int kernel, int stride = 1) {
    return {{.kind = Kind::convolution, .width = width, .kernel = kernel, .stride = stride},
            {.kind = Kind::norm}};
}
inline Layers depthwise(int stride) {
    return {{.kind = Kind::depthwise, .kernel = 3, .stride = stride}, {.kind = Kind::norm}};
}
inline Layers relu() {
    return {{.kind = Kind::relu}};
}
inline Layers max_pool(int kernel) {
    return {{.kind = Kind::max_pool, .kernel = kernel, .stride = 2}};
}
inline Layers average_pool() {
    return {{.kind = Kind::average_pool}};
}
inline Layers layer_norm() {
    return {{.kind = Kind::layer_norm}};
}
inline Layers embedding(int width, int rows) {
    return {{.kind = Kind::embedding, .width = width, .parts = rows}};
}
inline Layers attention(int heads, bool causal) {
    return {{.kind = Kind::attention, .parts = heads, .causal = causal}};
}
inline Layers lstm(int width) {
    return {{.kind = Kind::lstm, .width = width}};
}
inline Layers residual(Layers body, Layers shortcut = {}) {
    return {{.kind = Kind::residual, .body = std::move(body), .shortcut = std::move(shortcut)}};
}

} // namespace models
