// SPDX-License-Identifier: MIT
// The models on the CPU, by plain loops over integers: no float, no GPU, convolutions without the
// unfolded matrix that the GPU multiplies by.
#pragma once

#include "forward.hpp"
#include "integers.hpp"

#include <algorithm>
#include <cstdlib>

namespace models {

class Reference {
public:
    struct Tensor {
        Shape shape;
        int addends = 1; // of the products that it is the sums of
        std::vector<int> values;

        Tensor() = default;
        explicit Tensor(Shape of, int sum_of = 1)
            : shape(of), addends(sum_of), values(static_cast<std::size_t>(of.count())) {}
        [[nodiscard]] int& at(int feature, int column) {
            return values[static_cast<std::size_t>(feature * shape.columns() + column)];
        }
        [[nodiscard]] int at(int feature, int column) const {
            return values[static_cast<std::size_t>(feature * shape.columns() + column)];
        }
        [[nodiscard]] int column(int image, int y, int x) const {
            return (image * shape.height + y) * shape.width + x;
        }
    };

    static Tensor product(std::uint32_t weights, int features, const Tensor& x) {
        Tensor y(with(x.shape, features), x.shape.features);
        for (int row = 0; row < features; ++row)
            for (int column = 0; column < x.shape.columns(); ++column)
                for (int k = 0; k < x.shape.features; ++k)
                    y.at(row, column) +=
                        weight(weights, row * x.shape.features + k) * x.at(k, column);
        return y;
    }

    static Tensor convolution(std::uint32_t weights, const Layer& layer, const Tensor& x) {
        const int window = layer.kernel * layer.kernel;
        Tensor y(with(after_window(layer, x.shape), layer.width), x.shape.features * window);
        each_in_window(layer, x, y.shape, [&](int channel, int to, int from, int place) {
            for (int row = 0; row < layer.width; ++row)
                y.at(row, to) +=
                    weight(weights, (row * x.shape.features + channel) * window + place) *
                    x.at(channel, from);
        });
        return y;
    }

    static Tensor depthwise(std::uint32_t weights, const Layer& layer, const Tensor& x) {
        const int window = layer.kernel * layer.kernel;
        Tensor y(after_window(layer, x.shape), window);
        each_in_window(layer, x, y.shape, [&](int channel, int to, int from, int place) {
            y.at(channel, to) += weight(weights, channel * window + place) * x.at(channel, from);
        });
        return y;
    }

    static Tensor norm(std::uint32_t weights, const Tensor& x) {
        Tensor y(x.shape);
        for (int feature = 0; feature < x.shape.features; ++feature)
            for (int column = 0; column < x.shape.columns(); ++column)
                y.at(feature, column) =
                    normed(x.at(feature, column), scale_of(weight(weights, feature)),
                           weight(weights, x.shape.features + feature), x.addends);
        return y;
    }

    static Tensor relu(Tensor x) {
        for (int& value : x.values)
            value = std::max(value, 0);
        return x;
    }

    static Tensor add(Tensor x, const Tensor& other) {
        for (std::size_t i = 0; i < x.values.size(); ++i)
            x.values[i] = clamped(x.values[i] + other.values[i], -most, most);
        return x;
    }

    static Tensor max_pool(const Layer& layer, const Tensor& x) {
        Tensor y(after_window(layer, x.shape));
        std::fill(y.values.begin(), y.values.end(), -most);
        each_in_window(layer, x, y.shape, [&](int channel, int to, int from, int) {
            y.at(channel, to) = std::max(y.at(channel, to), x.at(channel, from));
        });
        return y;
    }

    static Tensor average_pool(const Tensor& x) {
        Tensor y(Shape{x.shape.features, x.shape.batch, 1, 1});
        for (int feature = 0; feature < x.shape.features; ++feature)
            for (int image = 0; image < x.shape.batch; ++image) {
                int sum = 0;
                for (int pixel = 0; pixel < x.shape.pixels(); ++pixel)
                    sum += x.at(feature, image * x.shape.pixels() + pixel);
                y.at(feature, image) = divided(sum, x.shape.pixels());
            }
        return y;
    }

    static Tensor layer_norm(const Tensor& x) {
        Tensor y(x.shape);
        const int features = x.shape.features;
        for (int column = 0; column < x.shape.columns(); ++column) {
            int sum = 0;
            for (int feature = 0; feature < features; ++feature)
                sum += x.at(feature, column);
            const int mean = divided(sum, features);
            int deviations = 0;
            for (int feature = 0; feature < features; ++feature)
                deviations += std::abs(x.at(feature, column) - mean);
            for (int feature = 0; feature < features; ++feature)
                y.at(feature, column) =
                    layer_normed(x.at(feature, column), mean, deviations / features + 1);
        }
        return y;
    }

    static Tensor embedding(std::uint32_t weights, const Layer& layer, const Tensor& tokens) {
        Tensor y(with(tokens.shape, layer.width));
        for (int feature = 0; feature < layer.width; ++feature)
            for (int column = 0; column < tokens.shape.columns(); ++column)
                y.at(feature, column) =
                    weight(weights, tokens.at(0, column) * layer.width + feature);
        return y;
    }

    static Tensor attention(const Layer& layer, const Tensor& query, const Tensor& key,
                            const Tensor& value) {
        Tensor y(query.shape);
        const int tokens = query.shape.width;
        const int size = query.shape.features / layer.parts;
        std::vector<int> weights(static_cast<std::size_t>(tokens));
        for (int head = 0; head < layer.parts; ++head)
            for (int column = 0; column < query.shape.columns(); ++column) {
                const int first = column / tokens * tokens;
                const int end = layer.causal ? column + 1 : first + tokens;
                int greatest = -(1 << 20);
                for (int other = first; other < end; ++other) {
                    int score = 0;
                    for (int i = head * size; i < (head + 1) * size; ++i)
                        score += query.at(i, column) * key.at(i, other);
                    weights[static_cast<std::size_t>(other - first)] = score >> bits_of(size);
                    greatest = std::max(greatest, score >> bits_of(size));
                }
                int all = 0;
                for (int other = 0; other < end - first; ++other) {
                    int& each = weights[static_cast<std::size_t>(other)];
                    each = softmax_weight(each, greatest);
                    all += each;
                }
                for (int i = head * size; i < (head + 1) * size; ++i) {
                    int sum = 0;
                    for (int other = first; other < end; ++other)
                        sum +=
                            weights[static_cast<std::size_t>(other - first)] * value.at(i, other);
                    y.at(i, column) = divided(sum, all);
                }
            }
        return y;
    }

    static Tensor lstm(std::uint32_t weights, const Layer& layer, const Tensor& gates) {
        const int width = layer.width;
        const int bits = bits_of(gates.addends + width);
        Tensor y(with(gates.shape, width));
        for (int sequence = 0; sequence < gates.shape.batch; ++sequence) {
            std::vector<int> cells(static_cast<std::size_t>(width));
            std::vector<int> hidden(static_cast<std::size_t>(width));
            for (int token = 0; token < gates.shape.width; ++token) {
                const int column = sequence * gates.shape.width + token;
                std::vector<int> sums(static_cast<std::size_t>(4 * width));
                for (int row = 0; row < 4 * width; ++row) {
                    sums[static_cast<std::size_t>(row)] = gates.at(row, column);
                    for (int k = 0; k < width; ++k)
                        sums[static_cast<std::size_t>(row)] +=
                            weight(weights, row * width + k) * hidden[static_cast<std::size_t>(k)];
                }
                for (int i = 0; i < width; ++i) {
                    const auto gate = [&](int which) {
                        return sums[static_cast<std::size_t>(which * width + i)];
                    };
                    const auto each = static_cast<std::size_t>(i);
                    const Cell next =
                        stepped(gate(0), gate(1), gate(2), gate(3), cells[each], bits);
                    cells[each] = next.cell;
                    hidden[each] = next.hidden;
                    y.at(i, column) = next.hidden;
                }
            }
        }
        return y;
    }

    // The CPU has no streams.
    void fork(const Tensor& /*x*/) {}
    void leave() {}
    void join(const Tensor& /*x*/) {}
    void finish(const Layer& /*layer*/, const Tensor& /*x*/) {}

    static int weight(std::uint32_t parameter, int index) {
        return weight_of(parameter, static_cast<std::uint32_t>(index));
    }

private:
    static Shape with(Shape shape, int features) {
        shape.features = features;
        return shape;
    }

    // Calls use(channel, column of the result, column of x, place in the window) where x has a
    // pixel.
    template <typename Use>
    static void each_in_window(const Layer& layer, const Tensor& x, const Shape& to,
                               const Use& use) {
        const int pad = (layer.kernel - 1) / 2;
        for (int channel = 0; channel < x.shape.features; ++channel)
            for (int column = 0; column < to.columns(); ++column)
                for (int place = 0; place < layer.kernel * layer.kernel; ++place) {
                    const int row =
                        column / to.width % to.height * layer.stride - pad + place / layer.kernel;
                    const int left = column % to.width * layer.stride - pad + place % layer.kernel;
                    if (row >= 0 && row < x.shape.height && left >= 0 && left < x.shape.width)
                        use(channel, column, x.column(column / to.pixels(), row, left), place);
                }
    }
};

inline Reference::Tensor input(const Model& model, std::uint32_t batch) {
    Reference::Tensor tensor(model.input);
    for (std::size_t i = 0; i < tensor.values.size(); ++i)
        tensor.values[i] = input_of(batch, static_cast<std::uint32_t>(i), model.tokens);
    return tensor;
}

} // namespace models
