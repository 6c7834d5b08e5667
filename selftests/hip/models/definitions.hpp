// SPDX-License-Identifier: MIT
// Eight models by their layers. A software GPU runs them, so they are small: the number and the
// order of layers are the real ones unless a comment says otherwise, widths and images are not.
//
//   here                                                    the real one
//   mlp          64-128-64, batch 16                        1024-2048-1024
//   cnn          8, 16 channels, image 16x16, batch 2       such as LeNet, 32, 64 channels, 28x28
//   transformer  1 block, width 32, 4 heads, 12 tokens      6 to 12 blocks, width 512, 8 heads
//   resnet18     8 to 64 channels, image 32x32              64 to 512, 224x224
//   resnet50     4 to 128 channels, image 32x32             64 to 2048, 224x224
//   mobilenet    4 to 128 channels, image 32x32             32 to 1024, 224x224
//   lstm         2 layers, width 24, 8 tokens, batch 4      2 layers, width 650, 35 tokens
//   decoder      2 causal blocks, width 32, 16 tokens       GPT-2: 12 blocks, width 768, 1024
//   tokens
//
// All numbers are integers in float, so small that each sum is exact in any order: weights from -3
// to 3, activations from -15 to 15, brought back to that by the norm behind each product. GELU is a
// ReLU. Inference only: no gradients.
#pragma once

#include "layers.hpp"

#include <cstdint>
#include <string>

namespace models {

struct Model {
    std::string name;
    Shape input;
    int tokens; // the input is tokens less than this, or if 0 numbers from -7 to 7
    Layers layers;
    std::uint64_t digest; // of the result for batch 0
};

// As in torchvision: two convolutions; the shortcut is one of 1x1 where the shape changes.
inline Layers basic_block(int width, int stride, bool same) {
    return join({residual(join({convolution(width, 3, stride), relu(), convolution(width, 3)}),
                          same ? Layers{} : convolution(width, 1, stride)),
                 relu()});
}

inline Layers bottleneck(int width, int stride, bool same) {
    return join({residual(join({convolution(width, 1), relu(), convolution(width, 3, stride),
                                relu(), convolution(4 * width, 1)}),
                          same ? Layers{} : convolution(4 * width, 1, stride)),
                 relu()});
}

using Block = Layers (*)(int width, int stride, bool same);

// Four stages of residual blocks, each with twice the channels of the one before and half its edge.
inline Layers resnet(int width, Block block, bool widens, const std::vector<int>& blocks) {
    std::vector<Layers> lists{convolution(width, 7, 2), relu(), max_pool(3)};
    for (std::size_t stage = 0; stage < blocks.size(); ++stage)
        for (int i = 0; i < blocks[stage]; ++i)
            lists.push_back(block(width << stage, i == 0 && stage > 0 ? 2 : 1,
                                  i > 0 || (stage == 0 && !widens)));
    lists.push_back(average_pool());
    lists.push_back(linear(10));
    return join(lists);
}

// Version 1: a depthwise convolution and one of 1x1, 13 times.
inline Layers mobilenet(int width) {
    constexpr int times[] = {2, 4, 4, 8, 8, 16, 16, 16, 16, 16, 16, 32, 32};
    std::vector<Layers> lists{convolution(width, 3, 2), relu()};
    int before = 1;
    for (const int factor : times) {
        // The edge is halved where the width doubles, but not at the first block.
        const bool halves = factor != before && before != 1;
        lists.push_back(
            join({depthwise(halves ? 2 : 1), relu(), convolution(width * factor, 1), relu()}));
        before = factor;
    }
    lists.push_back(average_pool());
    lists.push_back(linear(10));
    return join(lists);
}

inline Layers transformer_block(int width, int heads, bool causal) {
    return join({residual(join({layer_norm(), attention(heads, causal), linear(width)})),
                 residual(join({layer_norm(), linear(4 * width), relu(), linear(width)}))});
}

inline const std::vector<Model>& all() {
    static const std::vector<Model> models{
        {"mlp", {64, 16, 1, 1}, 0, join({linear(128), relu(), linear(64)}), 0x5397f4864c40dc08},
        {"cnn",
         {1, 2, 16, 16},
         0,
         join({convolution(8, 3), relu(), max_pool(2), convolution(16, 3), relu(), max_pool(2),
               average_pool(), linear(32), relu(), linear(10)}),
         0x25e9d06cfe42fd6f},
        {"transformer", {32, 2, 1, 12}, 0, transformer_block(32, 4, false), 0xbd55f34c73b4911c},
        {"resnet18",
         {3, 1, 32, 32},
         0,
         resnet(8, basic_block, false, {2, 2, 2, 2}),
         0xd448a376c55bd3b0},
        {"resnet50",
         {3, 1, 32, 32},
         0,
         resnet(4, bottleneck, true, {3, 4, 6, 3}),
         0x0feb5bc22b9fd281},
        {"mobilenet", {3, 1, 32, 32}, 0, mobilenet(4), 0x6edd9129535e8187},
        {"lstm",
         {1, 4, 1, 8},
         40,
         join({embedding(24, 40), lstm(24), lstm(24), linear(40)}),
         0x1af4224605d0d268},
        {"decoder",
         {1, 1, 1, 16},
         40,
         join({embedding(32, 40), transformer_block(32, 4, true), transformer_block(32, 4, true),
               layer_norm(), linear(40)}),
         0xe1118a8c57348f3a},
    };
    return models;
}

inline const Model& named(const std::string& name) {
    for (const Model& model : all())
        if (model.name == name)
            return model;
    return all().front();
}

} // namespace models
