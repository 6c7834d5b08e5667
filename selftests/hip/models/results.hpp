// SPDX-License-Identifier: MIT
// Right results of the models, with a word for each layer, so that a wrong one names its layer.
#pragma once

#include "reference.hpp"

namespace models {

using Word = unsigned long long;

inline std::vector<float> as_floats(const std::vector<int>& values) {
    return {values.begin(), values.end()};
}

struct Result {
    std::vector<float> values;
    std::vector<Word> layers;  // the fold of each
    std::vector<Kind> kinds{}; // of the right result only
};

// The reference, which folds the result of each layer.
class FoldingReference : public Reference {
public:
    void finish(const Layer& layer, const Tensor& x) {
        const std::vector<float> floats = as_floats(x.values);
        Word sum = 0;
        for (std::size_t i = 0; i < floats.size(); ++i) {
            std::uint32_t bits = 0;
            std::memcpy(&bits, &floats[i], sizeof(bits));
            sum += folded(static_cast<int>(i), bits);
        }
        result.layers.push_back(sum);
        result.kinds.push_back(layer.kind);
    }

    Result result;
};

inline Result expected_of(const Model& model, std::uint32_t batch) {
    FoldingReference reference;
    const auto y = Forward<FoldingReference>(reference)(model, input(model, batch));
    reference.result.values = as_floats(y.values);
    return reference.result;
}

inline const char* name_of(Kind kind) {
    constexpr const char* names[] = {"linear",    "convolution", "depthwise",    "norm",
                                     "relu",      "max_pool",    "average_pool", "layer_norm",
                                     "embedding", "attention",   "lstm",         "residual"};
    return names[static_cast<int>(kind)];
}

// Ends the program at the first layer whose result differs.
inline void must_be_right(const Model& model, const Result& got, const Result& want) {
    for (std::size_t i = 0; i < want.layers.size(); ++i)
        if (i >= got.layers.size() || got.layers[i] != want.layers[i])
            test::die(1, "%s: the result of layer %zu of %zu (%s) is wrong", model.name.c_str(), i,
                      want.layers.size(), name_of(want.kinds[i]));
    test::must_equal(("result of " + model.name).c_str(), got.values, want.values);
}

inline std::uint64_t digest_of(const Result& result) {
    test::Digest digest;
    digest.add(result.values);
    digest.add(result.layers);
    return digest.value();
}

// Digests are known: a change of the reference is found as well.
inline void must_be_known(const Model& model, const Result& want) {
    if (digest_of(want) != model.digest)
        test::die(1, "%s: the reference has the digest %016llx, want %016llx", model.name.c_str(),
                  static_cast<Word>(digest_of(want)), static_cast<Word>(model.digest));
}

} // namespace models
